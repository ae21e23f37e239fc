/**
 * The page of a run that was trained: what it says of tokens is what the trainer read and what the policies say. Steps are compared,
 * so that turns have advantages of their own.
 */
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { addressOf } from '../../dashboard/contract/addresses.ts'
import { type Answers, episodesRoute, type Route, trajectoryRoute } from '../../dashboard/contract/routes.ts'
import { advantageAt } from '../../dashboard/contract/trajectory.ts'
import { type Dashboard, serveDashboard } from '../../dashboard/server.ts'
import { runId, uniforms } from '../../identity/identity.ts'
import { readUpdateBatch } from '../../policy/trainer/batch-file.ts'
import { createTrainer } from '../../policy/trainer/embedded.ts'
import { builtPage } from '../../scripts/build-page.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { browserMissing, startBrowser } from '../host/browser.ts'
import { removeHome, startPerdure, temporaryHome } from '../support/perdure-process.ts'

const run = runId('shown')
const home = temporaryHome()
const temperature = 0.8
let dashboard: Dashboard

beforeAll(async () => {
  // Refilled, so that every update has groups with a preference and therefore a batch.
  const settings = [
    'training.keepCheckpoints=9',
    'rollout.refill=8',
    'learning.stepGroups.weight=1',
    // So taught, some of its tokens have their episode's advantage alone, others one of their turn.
    'policy.initialization=random',
    'warmStart.epochs=24',
    'warmStart.batchTokens=1024',
    'warmStart.learningRate=0.005',
  ]
  const set = settings.flatMap((each) => ['--set', each])
  const words = ['train', 'test/support/whole-pipeline.yaml', '--run', run, ...set]
  const { code, stderr } = await startPerdure(home, ...words).ended
  expect(code, stderr).toBe(0)
  dashboard = await serveDashboard({ home, port: 0, page: await builtPage(), cache: join(home, 'cache') })
}, 300_000)

afterAll(async () => {
  await dashboard?.close()
  removeHome(home)
})

async function ask<Kind extends keyof Answers>(route: Route<Kind>): Promise<Answers[Kind]> {
  return (await (await fetch(dashboard.url + route)).json()) as Answers[Kind]
}

type Shown = Answers['trajectory']

/** Trajectories that updates have learnt from. */
async function learnt(): Promise<readonly Shown[]> {
  const { rows } = await ask(episodesRoute({ filter: `run:${run} update>0`, limit: 500 }))
  const shown: Shown[] = []
  for (const { episode } of rows) shown.push(await ask(trajectoryRoute(episode)))
  return shown.filter((each) => each.learnt !== undefined)
}

/** Sampled tokens with all that the page says of each. */
function tokensOf({ row, turns, learnt: lesson }: Shown) {
  return turns.flatMap(({ action, turn }) =>
    action === undefined || lesson === undefined
      ? []
      : action.sampled.ids.map((id, index) => ({
          episode: row.episode,
          turn,
          id,
          logprob: action.sampled.logprobs[index] ?? 0,
          version: action.version,
          advantage: advantageAt(lesson, turn, index),
          ratio: lesson.found?.[turn]?.ratios[index] ?? Number.NaN,
          entropy: lesson.found?.[turn]?.entropies[index] ?? Number.NaN,
          update: lesson.update,
          /** That the update began with. */
          trained: lesson.version - 1,
          mean: lesson.advantage,
          at: action.begin + action.prompt.ids.length + index,
          batch: lesson.batch,
        })),
  )
}

type ShownToken = ReturnType<typeof tokensOf>[number]

/** The same thousand of all that updates have learnt from, with the episodes that they are of. */
async function drawnTokens() {
  const draw = uniforms(1)
  const shown = await learnt()
  const all = shown.flatMap(tokensOf)
  const drawn = Array.from({ length: 1000 }, () => all[Math.floor(draw() * all.length)] as ShownToken)
  return { drawn, episodes: new Map(shown.map((each) => [each.row.episode, each])) }
}

// [TRAJECTORY-PAGE-2] [LEARNT-1]
it('says of a thousand tokens the version, logprob, advantage and update that the batch files have', async () => {
  const { drawn } = await drawnTokens()
  const directory = homeAt(home).run(run)
  // An update whose groups are all won or all lost has learnt from none of them.
  const updates = new Set(drawn.map((token) => token.update))
  expect([1, 2, 3]).toEqual(expect.arrayContaining([...updates]))
  expect(updates.size).toBeGreaterThan(1)
  // Tokens that the page would show wrongly if it had one advantage for an episode.
  expect(drawn.filter(hasCustomAdvantage).length).toBeGreaterThan(100)
  for (const token of drawn) {
    if (token.batch === undefined) throw new Error('the page has no batch for a token that was learnt from')
    expect(token.batch.file).toBe(directory.batchFile(token.update))
    const batch = await readUpdateBatch(token.batch.file)
    const at = token.batch.begin + token.at
    expect(batch.lossMask[at]).toBe(1)
    expect({
      id: token.id,
      version: token.version,
      logprob: token.logprob,
      advantage: token.advantage,
    }).toEqual({
      id: batch.tokens[at],
      version: batch.versions[at],
      logprob: batch.behaviourLogprobs[at],
      advantage: expect.closeTo(batch.advantages[at] ?? Number.NaN, 6),
    })
  }
}, 120_000)

function hasCustomAdvantage({ advantage, mean }: ShownToken): boolean {
  return Math.abs(advantage - mean) > 0.01
}

/** Logprobs of all tokens that were sampled, under a version, by episode and position. */
async function logprobsUnder(version: number, shown: readonly Shown[]): Promise<readonly Float32Array[]> {
  const actionsOf = ({ turns }: Shown) =>
    turns.flatMap(({ action }) => (action === undefined ? [] : [action]))
  const tokens = shown.map((each) =>
    actionsOf(each).flatMap(({ prompt, sampled }) => [...prompt.ids, ...sampled.ids]),
  )
  const mask = shown.map((each) =>
    actionsOf(each).flatMap(({ prompt, sampled }) => [
      ...prompt.ids.map(() => 0),
      ...sampled.ids.map(() => 1),
    ]),
  )
  const offsets = [0]
  for (const { length } of tokens) offsets.push((offsets.at(-1) ?? 0) + length)
  const trainer = createTrainer({ threads: 1 })
  try {
    const found = await trainer.logprobs({
      checkpointDir: homeAt(home).run(run).checkpointDir(version),
      tokens: Int32Array.from(tokens.flat()),
      offsets: Int32Array.from(offsets),
      lossMask: Uint8Array.from(mask.flat()),
      temperature,
      microBatchTokens: 2048,
    })
    return shown.map((_, index) => found.slice(offsets[index], offsets[index + 1]))
  } finally {
    await trainer.close()
  }
}

it('the checkpoints give the logprobs and ratios of the thousand tokens again', async () => {
  const { drawn, episodes } = await drawnTokens()
  const versions = new Set(drawn.flatMap(({ version, trained }) => [version, trained]))
  // A pool of older versions samples too.
  expect(versions.size).toBeGreaterThan(1)
  for (const version of versions) {
    const asked = drawn.filter((token) => token.version === version || token.trained === version)
    const names = [...new Set(asked.map(({ episode }) => episode))]
    const shown = names.flatMap((name) => episodes.get(name) ?? [])
    const found = new Map(
      (await logprobsUnder(version, shown)).map((values, index) => [names[index], values]),
    )
    for (const token of asked) {
      const logprob = found.get(token.episode)?.[token.at] ?? Number.NaN
      if (token.version === version) expect(Math.abs(token.logprob - logprob)).toBeLessThan(1e-3)
      if (token.trained === version) {
        expect(Math.abs(Math.log(token.ratio) - (logprob - token.logprob))).toBeLessThan(1e-3)
        // No distribution over a vocabulary has more, and one that a token was drawn from has some.
        expect(token.entropy).toBeGreaterThan(0)
        expect(token.entropy).toBeLessThan(Math.log(400))
      }
    }
  }
}, 120_000)

// [LEARNT-1]
it('shows what was learnt from the record of the update, where the batch files are gone', async () => {
  const before = await learnt()
  const directory = homeAt(home).run(run)
  const { rename } = await import('node:fs/promises')
  await rename(directory.batchesDir, `${directory.batchesDir}-away`)
  const other = await serveDashboard({
    home,
    port: 0,
    page: await builtPage(),
    cache: join(home, 'cache'),
  })
  try {
    for (const { row, learnt: lesson } of before) {
      const shown = (await (await fetch(other.url + trajectoryRoute(row.episode))).json()) as Shown
      expect(shown.notKept).toBeUndefined()
      expect(shown.learnt?.turns).toEqual(lesson?.turns)
      expect(shown.learnt?.advantage).toBe(lesson?.advantage)
    }
  } finally {
    await other.close()
    await rename(`${directory.batchesDir}-away`, directory.batchesDir)
  }
}, 120_000)

// [TRAJECTORY-PAGE-1]
it('has texts of tokens that joined are the conversation, and positions without a gap', async () => {
  for (const { turns, hasTexts } of await learnt()) {
    expect(hasTexts).toBe(true)
    let at = 0
    for (const { action, observation } of turns) {
      if (action === undefined) continue
      expect(action.begin).toBe(at)
      at += action.prompt.ids.length + action.sampled.ids.length
      const read = action.prompt.texts.join('')
      for (const { content } of observation.messages) expect(read).toContain(content)
      const { tool_calls: calls = [] } = action.message
      if (action.problems.length === 0)
        for (const { name } of calls) expect(action.sampled.texts.join('')).toContain(name)
    }
  }
}, 120_000)

const absent = browserMissing()

/** The facts of the token that an address names, as the page writes them. */
async function factsAt(page: Page, { episode, turn, at }: ShownToken): Promise<Map<string, string>> {
  // Another episode's page may be drawn still.
  await page.goto('about:blank')
  await page.goto(
    `${dashboard.url}${addressOf({ view: 'episode', episode, turn, token: at })}&colour=advantage`,
  )
  const facts = page.locator('.token-facts .fact-list')
  await facts.waitFor()
  const names = await facts.locator('dt').allTextContents()
  const values = await facts.locator('dd').allTextContents()
  return new Map(names.map((name, index) => [name, values[index] ?? '']))
}

/** The number that a fact begins with. */
function numberIn(text: string | undefined): number {
  return Number.parseFloat((text ?? '').replace('−', '-').replaceAll(',', ''))
}

// [SHOWN-ADVANTAGE-1]
it.skipIf(absent !== undefined)(
  `a reader of the page sees of a token what the batch file has${absent === undefined ? '' : ` (${absent})`}`,
  async () => {
    const { drawn } = await drawnTokens()
    const [own, others] = [
      drawn.filter(hasCustomAdvantage),
      drawn.filter((token) => !hasCustomAdvantage(token)),
    ]
    const looked = [...own.slice(0, 8), ...others.slice(0, 4)]
    expect(looked.length).toBeGreaterThan(8)
    const browser = await startBrowser()
    try {
      const page = await browser.newPage({ viewport: { width: 1280, height: 720 } })
      for (const token of looked) {
        if (token.batch === undefined) throw new Error('the page has no batch for it')
        const batch = await readUpdateBatch(token.batch.file)
        const advantage = batch.advantages[token.batch.begin + token.at] ?? Number.NaN
        const facts = await factsAt(page, token)
        const about = `${token.episode} ${token.at} ${JSON.stringify([...facts])}`
        // The page writes four digits.
        const isClose = (name: string, value: number) =>
          expect(Math.abs(numberIn(facts.get(name)) - value), `${name} of ${about}`).toBeLessThanOrEqual(
            Math.abs(value) * 1e-3 + 1e-6,
          )
        isClose('Advantage', advantage)
        isClose('Log-probability', token.logprob)
        isClose('Ratio', token.ratio)
        isClose('Entropy', token.entropy)
        expect(facts.get('Id'), about).toBe(String(token.id))
        expect(facts.get('Sampled by'), about).toContain(`v${token.version}`)
        expect(facts.get('Learnt by'), about).toContain(`update ${token.update}`)
        const tint = await page.locator('.token[aria-pressed=true]').getAttribute('style')
        expect(tint, about).toContain(advantage > 0 ? '--won' : advantage < 0 ? '--lost' : '--ink')
      }
    } finally {
      await browser.close()
    }
  },
  120_000,
)

it.skipIf(absent !== undefined)(
  `the pictures of the documents are drawn by their script${absent === undefined ? '' : ` (${absent})`}`,
  async () => {
    const root = dirname(dirname(import.meta.dirname))
    const pictures = join(home, 'pictures')
    const script = join(root, 'scripts', 'ui-pictures.ts')
    await promisify(execFile)(process.execPath, [script, home, run, pictures])
    const drawn = readdirSync(pictures)
    // As the documents name them; the first one that a reader sees is the page of the run.
    const shown = (document: string) =>
      [
        ...readFileSync(join(root, document), 'utf8').matchAll(
          /!\[[^\]]*\]\((?:docs\/)?pictures\/([^)]+)\)/g,
        ),
      ].map(([, name]) => name)
    expect(drawn.toSorted()).toEqual([...new Set(shown('docs/ui.md'))].toSorted())
    expect(shown('README.md')[0]).toBe('ui-run.png')
    for (const name of drawn) {
      const picture = readFileSync(join(pictures, name))
      // The header of a PNG: width and height. A blank picture is smaller by far.
      expect([picture.readUInt32BE(16), picture.readUInt32BE(20)], name).toEqual([1280, 800])
      expect(picture.byteLength, name).toBeGreaterThan(20_000)
    }
  },
  120_000,
)
