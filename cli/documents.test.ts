/** The documents say what the command line takes, and their links lead somewhere. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { loadExperiment } from '../config/files/experiment.ts'
import { loadConfig, parseConfig } from '../config/files/loader.ts'
import { counting } from '../examples/counting.ts'
import { algorithm } from '../examples/custom-algorithm.ts'
import type { JsonObject } from '../messages/message.ts'
import { documents } from '../test/support/documents.ts'
import { createProgram } from './program.ts'

const root = resolve(import.meta.dirname, '..')

function blocksOf(document: string, language: string): readonly string[] {
  const text = readFileSync(join(root, document), 'utf8')
  return [...text.matchAll(/^```([^\n]*)\n([\s\S]*?)^```/gm)].flatMap(([, found, block = '']) =>
    found === language ? [block] : [],
  )
}

/** Words as a shell reads them; what is in single quotes is one. */
function wordsOf(call: string): string[] {
  return [...call.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '')
}

/** Words of each `perdure` call in the shell blocks; comments, pipes and `npx` are left out. */
function callsOf(document: string): readonly string[][] {
  return blocksOf(document, 'sh')
    .flatMap((block) => block.split('\n'))
    .map((line) => line.replace(/\s+(?:#|[<>] ).*$/, '').replace(/^.*\|\s*/, ''))
    .flatMap((line) => {
      const call = /^(?:npx )?perdure (.*)$/.exec(line.trim())?.[1]
      return call === undefined ? [] : [wordsOf(call)]
    })
}

/** Parses a call as the program would, without carrying it out. */
async function parseCall(words: readonly string[]): Promise<void> {
  const program = createProgram()
  const disarm = (command: Command): void => {
    // A command with commands of its own mostly acts through them.
    if (command.commands.length === 0 || command.registeredArguments.length > 0)
      command.action(() => undefined)
    for (const child of command.commands) disarm(child)
  }
  for (const command of program.commands) disarm(command)
  await program.parseAsync([...words], { from: 'user' })
}

const calls = documents.flatMap((document) => callsOf(document).map((words) => [document, words] as const))

const shownFiles = [
  ...documents,
  ...['examples', 'trainers'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(md|yaml|ts|py)$/.test(name) && !name.includes('node_modules'))
      .map((name) => join(folder, name)),
  ),
]

test('every command in documents and examples runs as printed, in a clone too: it begins with `npx perdure`', () => {
  const commands = createProgram().commands.map((command) => command.name())
  const call = new RegExp(
    `(?<!npx )(?<![\\w/.@-])perdure (?:${commands.join('|')}|--help|--version|\\[).*`,
    'g',
  )
  const bare = shownFiles.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(call)].map(([found]) => `${file}: ${found}`),
  )
  expect(bare).toEqual([])
})

test('the package is installed from a packed file, never by its name, which a stranger may have in a registry', () => {
  const byName =
    /\bnpm (?:install|i|add|exec)\b[^\n`]*\sperdure(?![\w./-])|\bnpx (?:-y|--yes|-p|--package)\b[^\n`]*perdure/g
  const found = shownFiles.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(byName)].map(([call]) => `${file}: ${call}`),
  )
  expect(found).toEqual([])
})

test('the page shows commands as they are typed where it is served', () => {
  const folder = join(root, 'dashboard/page')
  const views = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.tsx$/.test(name),
  )
  for (const view of views) expect(readFileSync(join(folder, view), 'utf8')).not.toMatch(/<code>\s*perdure/)
})

test('the documents show commands', () => {
  expect(calls.length).toBeGreaterThan(30)
})

test.each(calls)('%s: perdure %j is a call that the command line takes', async (_, words) => {
  await parseCall(words)
  if (words[0] !== 'train') return
  const file = words[1]?.endsWith('.yaml') ? join(root, words[1]) : undefined
  const set = words.flatMap((word, index) => (words[index - 1] === '--set' ? [word] : []))
  expect(() => loadConfig({ file, set })).not.toThrow()
})

test.each(documents)('%s: its YAML is valid configuration', (document) => {
  for (const block of blocksOf(document, 'yaml')) expect(() => parseConfig(parse(block))).not.toThrow()
})

test.each(documents)('%s: its experiments are valid, beside the examples', (document) => {
  for (const block of blocksOf(document, 'yaml experiment')) {
    const folder = mkdtempSync(join(tmpdir(), 'perdure-document-'))
    try {
      cpSync(join(root, 'examples/household.yaml'), join(folder, 'household.yaml'))
      mkdirSync(join(folder, 'experiments'))
      const file = join(folder, 'experiments/shown.yaml')
      writeFileSync(file, block)
      expect(() => loadExperiment(file)).not.toThrow()
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
})

test.each(documents)('%s: its links lead somewhere', (document) => {
  const text = readFileSync(join(root, document), 'utf8')
  const links = [...text.matchAll(/\]\(([^)#\s]+)/g)].map(([, link = '']) => link)
  for (const link of links.filter((each) => !each.startsWith('http')))
    expect(existsSync(join(root, dirname(document), link)), link).toBe(true)
})

test.each(documents)('%s: the npm scripts that it names exist', (document) => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  const text = readFileSync(join(root, document), 'utf8')
  const named = [...text.matchAll(/npm (?:run )?(start|test|check|format|docs|bench|build)\b/g)]
  for (const [, script = ''] of named) expect(scripts).toHaveProperty(script)
})

test('the algorithm that the documents show is the example, and its derivative is that of its loss', () => {
  expect(blocksOf('docs/algorithms.md', 'typescript')).toEqual([
    readFileSync(join(root, 'examples/custom-algorithm.ts'), 'utf8'),
  ])
  const turn = { reward: 0, actionTokens: 1 }
  const episode = (reward: number, turns: number) => ({
    ...{ reward, success: reward >= 1, completed: true, keepsPay: true, actionTokens: turns },
    turns: Array.from({ length: turns }, () => turn),
  })
  // The median of 0, 1 and 3 is 1, and four turns divide by two.
  const episodes = [episode(0, 1), episode(1, 1), episode(3, 4)]
  expect(algorithm.advantagesOf([{ task: 'db', episodes }], { discount: 1 })).toEqual([[-1, 0, 1]])
  const token = { behaviourLogprob: -1, proximalLogprob: -1, startLogprob: -1, advantage: 2, stale: false }
  const settings = { clipLow: 0.2, clipHigh: 0.2, dualClip: 3 }
  const [before, at, after] = [-1e-6, 0, 1e-6].map(
    (step) => algorithm.loss.lossesOf([{ ...token, logprob: -0.5 + step }], settings)[0],
  )
  const step = {
    gradientNorm: 1,
    headNorm: 2,
    earlierNorms: [],
    pass: 0,
    loss: 0,
    kl: 0.2,
    referenceKl: 0,
    drift: 0,
    entropy: 1,
    clipFraction: 0,
    actionTokens: 3,
  }
  expect(algorithm.rejects?.(step)).toBe(true)
  expect(algorithm.rejects?.({ ...step, kl: 0.01 })).toBe(false)
  expect(at?.derivative).toBeCloseTo(((after?.loss ?? 0) - (before?.loss ?? 0)) / 2e-6, 6)
})

test('the environment that the documents name as an example of the contract keeps it', async () => {
  const session = await (await counting.open({})).create()
  const say = (content: JsonObject) => ({
    role: 'assistant' as const,
    content: '',
    tool_calls: [{ name: 'say', arguments: content }],
  })
  expect((await session.reset('7')).messages[0]?.content).toBe('What comes after 7?')
  expect(await session.step(say({}))).toMatchObject({ done: false, reward: 0 })
  expect(await session.step(say({ number: 8 }))).toMatchObject({
    done: true,
    reward: 1,
    outcome: 'completed',
  })
})

test('the environment that the documents show is the example, line by line', () => {
  const [shown] = blocksOf('docs/environments.md', 'typescript')
  const example = readFileSync(join(root, 'examples/guess-number/index.ts'), 'utf8')
  expect(shown).toBe(example)
  expect(example.trimEnd().split('\n').length).toBeLessThanOrEqual(15)
})
