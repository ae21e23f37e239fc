/** First use, by real commands: a custom environment from nothing to an exported trajectory, and its pitfalls. */
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { killServer } from '../support/perdure-process.ts'

const program = fileURLToPath(new URL('../../bin/perdure.mjs', import.meta.url))
/** Where the person works: an empty folder, whose home is the default one. */
const folder = mkdtempSync(join(tmpdir(), 'perdure-first-'))
afterAll(() => {
  killServer(join(folder, '.perdure'))
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
})

async function run(command: string, ...words: readonly string[]) {
  const child = spawn(command, words, {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NO_COLOR: '1' },
  })
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise((resolve) => child.once('close', resolve)),
  ])
  return { stdout, stderr, code }
}

const perdure = (...words: readonly string[]) => run(process.execPath, program, ...words)
const set = (...values: readonly string[]) => values.flatMap((value) => ['--set', value])

const small = set(
  'training.updates=1',
  'rollout.groupsPerUpdate=2',
  'rollout.refill=0',
  'rollout.groupSize=2',
  'warmStart.demonstrations=20',
  'warmStart.epochs=1',
  'evaluation.suites.0.episodes=4',
)
const hasPython = spawnSync('python3', ['--version']).status === 0

describe('an environment that was made by `env new`', () => {
  it('is written once, and nothing is overwritten', async () => {
    expect(await perdure('env', 'new', 'my-game')).toMatchObject({ code: 0, stderr: '' })
    const files = readdirSync(join(folder, 'my-game'))
    expect(files).toEqual(expect.arrayContaining(['README.md', 'index.test.ts', 'index.ts', 'train.yaml']))
    for (const file of ['README.md', 'index.ts', 'train.yaml', 'package.json', 'index.test.ts'])
      expect(readFileSync(join(folder, 'my-game', file), 'utf8')).not.toMatch(/guess-?number/i)
    writeFileSync(join(folder, 'my-game', 'README.md'), 'mine')
    const again = await perdure('env', 'new', 'my-game')
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('is there already') })
    expect(readFileSync(join(folder, 'my-game', 'README.md'), 'utf8')).toBe('mine')
    expect(readdirSync(folder).filter((name) => name.startsWith('.my-game'))).toEqual([])
  })

  it('is refused under a name that cannot be one or that a task has', async () => {
    for (const name of ['My', '../up', 'alfworld'])
      expect(await perdure('env', 'new', name)).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/NAME is/),
      })
  })

  it('passes its tests, by the command and by Node, and a test that fails is reported by the exit code', async () => {
    expect(await perdure('env', 'test', './my-game')).toMatchObject({ code: 0 })
    expect(await run(process.execPath, '--test', 'my-game/index.test.ts')).toMatchObject({ code: 0 })
    const broken = "import { test } from 'node:test'\ntest('no', () => { throw new Error('no') })\n"
    writeFileSync(join(folder, 'my-game', 'broken.test.ts'), broken)
    expect(await perdure('env', 'test', './my-game')).toMatchObject({ code: 1 })
    rmSync(join(folder, 'my-game', 'broken.test.ts'))
  })

  it.skipIf(!hasPython)('may have its rules in Python, passes its tests, and learns', async () => {
    expect(await perdure('env', 'new', 'in-python', '--python')).toMatchObject({ code: 0, stderr: '' })
    for (const file of ['README.md', 'index.ts', 'environment.py'])
      expect(readFileSync(join(folder, 'in-python', file), 'utf8')).not.toMatch(/guess-?number|guessNumber/)
    expect(await perdure('env', 'test', './in-python')).toMatchObject({ code: 0 })
    const trained = await perdure('train', 'in-python/train.yaml', '--run', 'in-python', ...small)
    expect(trained).toMatchObject({ code: 0 })
  })

  it('[ENV-TYPES-1] has types, and the test of the environment reports where they do not fit', async () => {
    const file = join(folder, 'my-game', 'index.ts')
    const source = readFileSync(file, 'utf8')
    writeFileSync(file, source.replace('random.int(1, 20)', "random.int('1', 20)"))
    const { code, stdout } = await perdure('env', 'test', './my-game')
    expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining('index.ts(6,') })
    expect(stdout).toContain('TS2345')
    writeFileSync(file, source)
  })

  it('is named where it pays before its end, with the setting that keeps such rewards at a limit', async () => {
    mkdirSync(join(folder, 'walk'))
    writeFileSync(join(folder, 'walk', 'package.json'), '{"type":"module"}')
    writeFileSync(
      join(folder, 'walk', 'index.test.ts'),
      "import { test } from 'node:test'\ntest('yes', () => {})\n",
    )
    writeFileSync(
      join(folder, 'walk', 'index.ts'),
      `import { defineEnvironment, z } from 'perdure'
export const walk = defineEnvironment('walk', {
  start: () => ({ prompt: 'Walk.', walked: 0 }),
  tools: (tool) => ({
    walk: tool({
      description: 'Walks on.',
      parameters: z.object({}),
      run: (_, state) => ({ reply: 'on', reward: 0.25, done: ++state.walked === 4 }),
    }),
  }),
  *expert() {
    for (;;) yield { walk: {} }
  },
})\n`,
    )
    expect(await perdure('env', 'test', './walk')).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(
        /walk: rewards are paid before an episode ends; .*`tasks\.N\.notCompleted`/,
      ),
    })
  })

  it('is trained, prolonged, measured and exported, without a dead end', async () => {
    const steps = [
      ['train', 'my-game/train.yaml', '--run', 'first', ...small],
      ['resume', 'first', ...set('training.updates=2')],
      ['eval', 'first', '--episodes', '2'],
      ['export', 'first', '--out', 'first.jsonl'],
    ]
    for (const step of steps) {
      const { code, stderr } = await perdure(...step)
      expect({ step: step[0], code, stderr: code === 0 ? '' : stderr }).toEqual({
        step: step[0],
        code: 0,
        stderr: '',
      })
    }
    const { stdout } = await perdure('status', 'first', '--json')
    expect(JSON.parse(stdout)).toMatchObject({ status: 'done', step: 2 })
    const trail = await perdure('audit', 'first', '--json')
    expect(trail.stdout).toContain('training.updates')
    const refused = await perdure('resume', 'first', ...set('seed=2', 'training.updates=3'))
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringMatching(/`seed` any more: all draws/) })
  }, 300_000)
})

describe('an environment without an expert', () => {
  it('is caught by the plan and by the dry run, with the three ways out, before anything is started', async () => {
    mkdirSync(join(folder, 'bare'))
    writeFileSync(
      join(folder, 'bare', 'index.mjs'),
      "import { defineEnvironment, win } from 'perdure'\nexport const bare = defineEnvironment('bare', { start: () => ({ prompt: 'Hi.' }), answer: () => win('Hi.') })\n",
    )
    writeFileSync(
      join(folder, 'bare', 'train.yaml'),
      'tasks: [{ task: bare, from: . }]\nevaluation: { suites: [{ task: bare }] }\n',
    )
    for (const more of [[], ['--dry-run']]) {
      const { code, stderr } = await perdure('train', 'bare/train.yaml', '--home', 'untouched', ...more)
      expect(code).toBe(2)
      for (const way of ['`expert`', '`policy.from`', '`warmStart.demonstrations: 0`'])
        expect(stderr).toContain(way)
    }
    expect(readdirSync(folder)).not.toContain('untouched')
    const free = await perdure('train', 'bare/train.yaml', '--dry-run', ...set('warmStart.demonstrations=0'))
    expect(free.code).toBe(0)
  })
})

describe('TypeScript below a package.json that says CommonJS', () => {
  it('is recognized and explained, with the file that says so', async () => {
    mkdirSync(join(folder, 'common', 'game'), { recursive: true })
    const manifest = join(folder, 'common', 'package.json')
    writeFileSync(manifest, '{ "name": "common", "type": "commonjs" }')
    writeFileSync(
      join(folder, 'common', 'game', 'index.ts'),
      "import { defineEnvironment } from 'perdure'\nexport const game = defineEnvironment('game', { start: () => ({ prompt: '' }) })\n",
    )
    const { code, stderr } = await perdure('env', 'list', './common/game')
    expect(code).toBe(2)
    expect(stderr).toMatch(/common\/package\.json says "type": "commonjs".*write "type": "module"/)
  })
})
