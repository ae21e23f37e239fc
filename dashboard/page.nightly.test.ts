/** The page in a browser, at a home that is filled by the store's own functions: every view, its links, filters and keys. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  episodeId,
  evaluationId,
  experimentName,
  experimentRunId,
  groupId,
  type RunId,
} from '../identity/identity.ts'
import { builtPage } from '../scripts/build-page.ts'
import { browserMissing, startBrowser } from '../test/host/browser.ts'
import { tinyExperiment } from '../test/support/tiny-experiment.ts'
import { addressOf } from './contract/addresses.ts'
import {
  addConsumedGroup,
  addEpisode,
  addRun,
  type FilledHome,
  openFilledHome,
} from './filled-home.testing.ts'
import { type Dashboard, serveDashboard } from './server.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const hostile = `<img src=x onerror="document.title='hacked'"><script>alert(1)</script>\u202e ${'x'.repeat(100_000)}`
const absent = browserMissing()

let home: FilledHome
let dashboard: Dashboard
let browser: Browser

beforeAll(async () => {
  if (absent !== undefined) return
  home = await openFilledHome()
  const suites = [{ name: 'few', task: 'echo', episodes: 2 }]
  for (const name of ['first', 'second']) {
    const run = await addRun(home, name, {
      tasks: [{ task: 'echo', from: './echo' }],
      learning: { clipHigh: name === 'first' ? 0.2 : 0.3 },
      evaluation: { suites, gates: [{ suite: 'few', drop: 0.1 }] },
    })
    for (const step of [1, 2, 3])
      await addConsumedGroup(home, run, step - 1, {
        step,
        ...(step === 2 ? { rewards: [1, 1] } : { advantages: [0.5, -0.5] }),
      })
    await addEvaluation(run, name === 'second')
  }
  await addExperiment()
  const first = groupId('first' as RunId, 0)
  await addEpisode(home, { id: episodeId(first, 5, 0), instance: 'i0', text: hostile, created: 9500 })
  dashboard = await serveDashboard({
    home: home.dir,
    port: 0,
    page: await builtPage(),
    cache: `${home.dir}/cache`,
  })
  browser = await startBrowser()
})

afterAll(async () => {
  if (absent !== undefined) return
  await browser.close()
  await dashboard.close()
  await home[Symbol.asyncDispose]()
})

/** Adds evaluations of the warm start and of version 2, beside an expert. */
async function addEvaluation(run: RunId, isBetter: boolean): Promise<void> {
  await home.store.experts.insert(run, { suite: 'few', success: 0.9, n: 20 })
  const warmStart = evaluationId(run, 'few', 0, 1)
  await home.store.evaluations.insert({
    id: warmStart,
    run,
    suite: 'few',
    version: 0,
    seed: 1,
    created: 1500,
  })
  await home.store.evaluations.complete(warmStart, {
    success: 0.3,
    n: 20,
    planned: 20,
    lost: {},
    episodes: [],
    statistics: { meanReward: 0.3 },
    ended: 1900,
  })
  const id = evaluationId(run, 'few', 2, 1)
  await home.store.evaluations.insert({ id, run, suite: 'few', version: 2, seed: 1, created: 8000 })
  const episodes = [0, 1].map((sample) => episodeId(id, sample, 0))
  for (const [sample, episode] of episodes.entries()) {
    const won = isBetter || sample === 0
    await addEpisode(home, { id: episode, instance: `e${sample}`, won, version: 2, created: 8000 })
  }
  const success = isBetter ? 1 : 0.5
  await home.store.evaluations.complete(id, {
    success,
    n: 2,
    planned: 2,
    lost: {},
    episodes,
    statistics: { meanReward: success },
    ended: 9000,
  })
}

/** Adds an experiment of two arms and two seeds: three runs are done, one waits. */
async function addExperiment(): Promise<void> {
  const name = experimentName('tiny')
  const statement = tinyExperiment(name, { question: 'Are two updates better than one?', test: 'sign_flip' })
  await home.store.experiments.insert({ name, statement, created: 9000 })
  for (const [arm, seed, successes] of [
    ['one', 1, [0, 0.5]],
    ['two', 1, [0, 1]],
    ['two', 2, [0.5, 1]],
  ] as const) {
    const run = await addRun(home, experimentRunId(name, arm, seed))
    for (const [version, success] of successes.entries()) {
      const id = evaluationId(run, 'few', version, seed)
      await home.store.evaluations.insert({ id, run, suite: 'few', version, seed, created: 9000 })
      const result = {
        success,
        n: 3,
        planned: 3,
        lost: {},
        episodes: [],
        statistics: { meanReward: success },
        ended: 9100 + version,
      }
      await home.store.evaluations.complete(id, result)
    }
    await home.store.runs.setStatus(run, 'done', { ended: 9500 })
  }
}

/** Opens an address, gives the page to a look at it, and demands that nothing went wrong meanwhile. */
async function at(
  address: string,
  look: (page: Page) => Promise<void>,
  options: BrowserContextOptions = {},
): Promise<void> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 720 }, ...options })
  try {
    const page = await context.newPage()
    const faults: string[] = []
    page.on('pageerror', (error) => faults.push(error.message))
    page.on('console', (message) => {
      if (message.type() === 'error') faults.push(message.text())
    })
    page.on('request', (request) => {
      if (!request.url().startsWith(dashboard.url)) faults.push(`asked ${request.url()}`)
    })
    await page.goto(dashboard.url + address)
    await look(page)
    expect(faults).toEqual([])
  } finally {
    await context.close()
  }
}

const episode = 'first/g0/s1/a0'
const views: readonly (readonly [string, string, string])[] = [
  ['runs', addressOf({ view: 'runs' }), 'second'],
  ['a run', addressOf({ view: 'run', run: 'first', update: 2 }), 'Update 2 → v2'],
  ['a configuration', `${addressOf({ view: 'run', run: 'first' })}?tab=configuration`, 'All keys'],
  ['what is in flight', `${addressOf({ view: 'run', run: 'first' })}?tab=now`, 'Ended last'],
  ['orders', `${addressOf({ view: 'run', run: 'first' })}?tab=orders`, 'shows and does not steer'],
  [
    'a comparison',
    addressOf({ view: 'comparison', policies: [{ run: 'first' }, { run: 'second' }] }),
    'learning.clipHigh',
  ],
  ['an experiment', addressOf({ view: 'experiment', experiment: 'tiny' }), 'Sign-flip test over 2 seeds'],
  ['episodes', addressOf({ view: 'episodes', filter: '' }), '17 found'],
  [
    'a group',
    addressOf({ view: 'group', parent: 'first/g0' }),
    'At turn 1 it did “say(yes)”; the other did “say(no)”.',
  ],
  ['an evaluation', addressOf({ view: 'group', parent: 'first/e-few-v2-1' }), 'Evaluation'],
  ['a token', addressOf({ view: 'episode', episode, turn: 1, token: 8 }), 'Log-probability'],
]

describe.skipIf(absent !== undefined)(`the page${absent === undefined ? '' : ` (${absent})`}`, () => {
  test.each(views)('%s: opens at its address, and axe finds nothing serious', async (_, address, text) => {
    for (const colorScheme of ['light', 'dark'] as const)
      await at(
        address,
        async (page) => {
          await page.getByText(text).first().waitFor()
          expect(await seriousFaults(page), colorScheme).toEqual([])
        },
        { colorScheme },
      )
  })

  test('links lead from the runs to the update that learnt a token', async () => {
    await at('#/', async (page) => {
      await page.getByRole('link', { name: 'first', exact: true }).click()
      await page.getByRole('link', { name: 'Episodes', exact: true }).click()
      // Three groups of two, an evaluation of two, and one that is hostile.
      await page.getByText('9 found').waitFor()
      await page.getByRole('link', { name: episode, exact: true }).click()
      await page.getByRole('group', { name: 'Tokens of turn 1' }).getByRole('button').first().click()
      const facts = page.getByRole('region', { name: 'Token', exact: false }).first()
      await facts.getByText('v0').waitFor()
      await facts.getByRole('link', { name: 'update 1' }).click()
      await page.getByRole('heading', { name: 'Update 1 → v1' }).waitFor()
      await page.waitForURL(({ href }) => href.includes('#/runs/first?update=1'))
    })
  })

  test('a filter and a search are in the address, and a wrong one is named', async () => {
    await at(addressOf({ view: 'episodes', filter: '' }), async (page) => {
      const field = page.getByLabel('Filter episodes', { exact: false })
      await field.fill('run:first is:lost')
      await page.getByText('3 found').waitFor()
      await page.waitForURL(
        ({ href }) => new URLSearchParams(href.split('?')[1]).get('filter') === 'run:first is:lost',
      )
      await page.reload()
      await page.getByText('3 found').waitFor()
      await field.fill('outcome:great')
      await page.getByText('outcome:great is unknown').waitFor()
      await field.fill('group:first/g2 "heard no"')
      await page.getByText('1 found').waitFor()
    })
  })

  test('a suite shows what the run reaches beside its warm start and the expert', async () => {
    await at(addressOf({ view: 'run', run: 'first' }), async (page) => {
      const chart = page.getByRole('figure').filter({ hasText: 'Success on few' })
      await chart.getByText('with reinforcement learning 50 %').waitFor()
      await chart.getByText('warm start alone 30 %').waitFor()
      await chart.getByText('the expert 90 %').waitFor()
    })
  })

  test('two runs are chosen and compared', async () => {
    await at('#/', async (page) => {
      for (const run of ['first', 'second']) await page.getByLabel(`Compare ${run}`).check()
      await page.getByRole('button', { name: 'Compare 2 runs' }).click()
      // One of two instances was lost by the first and won by the second.
      await page.getByRole('cell', { name: '+50.0' }).waitFor()
      await page.waitForURL(({ href }) => href.includes('compare?of=first%2Csecond'))
      const suite = page.getByRole('figure').filter({ hasText: 'Success on few' })
      await suite.getByText('first 50 %').waitFor()
      await suite.getByText('second 100 %').waitFor()
    })
  })

  test('an experiment shows its arms by seed, leaves a claim open whose runs are not done, and leads to its runs', async () => {
    await at('#/', async (page) => {
      await page.getByRole('link', { name: 'tiny', exact: true }).click()
      // One run waits, and the others have no instance that both arms played.
      await page.getByText('open: seeds 1, 2 are missing').waitFor()
      // Arm two has won all at its last version with both seeds, arm one half with its first.
      const arms = page.getByRole('region', { name: 'Arms on few' })
      await arms.getByRole('row', { name: /two.*100\.0 %.*100\.0 %.*100\.0 %/ }).waitFor()
      await arms.getByRole('row', { name: /one.*50\.0 %.*50\.0 %.*–/ }).waitFor()
      await page.getByText('waiting').waitFor()
      await page.getByRole('link', { name: 'done' }).last().click()
      await page.getByRole('heading', { name: 'tiny.two.2' }).waitFor()
    })
  })

  test('keys lead through turns, tokens and colours', async () => {
    await at(addressOf({ view: 'episode', episode }), async (page) => {
      await page.getByRole('region', { name: 'Turn 0' }).waitFor()
      await page.keyboard.press('j')
      await page.keyboard.press('j')
      await page.waitForURL(({ href }) => href.includes('turn=1'))
      await page.keyboard.press('c')
      await page.waitForURL(({ href }) => href.includes('colour=ratio'))
      await page.getByText('Its update’s trainer has not written them').waitFor()
      await page.getByRole('group', { name: 'Tokens of turn 0' }).getByRole('button').first().click()
      await page.keyboard.press('ArrowRight')
      await page.waitForURL(({ href }) => href.includes('token=4'))
      await page.keyboard.press(']')
      await page.waitForURL('**/g0/s5/a0')
    })
  })

  test('a turn shows what it took and which attempt it was, and the outline where the time went', async () => {
    await at(addressOf({ view: 'episode', episode }), async (page) => {
      const turn = page.getByRole('region', { name: 'Turn 1' })
      await turn.getByText('sampled in 250 ms').waitFor()
      await turn.getByText('attempt 2').waitFor()
      await turn.getByText('answered in 40 ms').waitFor()
      const outline = page.getByRole('navigation', { name: 'Turns' })
      // Turns of 500 and 250 ms, answered in 40 and 60.
      await outline.getByText('sampling 750 ms').waitFor()
      await outline.getByText('environment 100 ms').waitFor()
      await outline.getByTitle('sampled in 250 ms, answered in 60 ms').waitFor({ state: 'attached' })
    })
  })

  test('an episode shows how its instance is played', async () => {
    await at(addressOf({ view: 'episode', episode }), async (page) => {
      await page.getByRole('region', { name: 'Play it yourself' }).getByText('perdure env play').waitFor()
    })
  })

  test('tokens that were read are folded, and reached by a link of their own', async () => {
    await at(addressOf({ view: 'episode', episode }), async (page) => {
      const read = page.getByRole('group', { name: 'Tokens read before turn 0' })
      expect(await read.count()).toBe(0)
      await page.getByText('3 tokens read before').first().click()
      await read.getByRole('button').nth(2).click()
      await page.waitForURL(({ href }) => href.includes('token=2'))
      await page.getByText('2 of those read before turn 0').waitFor()
    })
    await at(addressOf({ view: 'episode', episode, token: 6 }), async (page) => {
      const read = page.getByRole('group', { name: 'Tokens read before turn 1' })
      await read.getByRole('button', { pressed: true }).waitFor()
      await page.getByText('it has no log-probability').waitFor()
      expect(await seriousFaults(page)).toEqual([])
    })
  })

  test('the text of an environment is text', async () => {
    await at(addressOf({ view: 'episode', episode: 'first/g0/s5/a0' }), async (page) => {
      await page.getByText('onerror="document.title=\'hacked\'"').waitFor()
      await page.getByText('⟨U+202E⟩').waitFor()
      expect(await page.locator('main img, main script').count()).toBe(0)
      expect(await page.title()).not.toContain('hacked')
    })
  })

  test('the page of a run fits a telephone', async () => {
    const look = async (page: Page) => {
      await page.getByRole('heading', { name: 'Success', exact: true }).waitFor()
      const [shown, wanted] = await page.evaluate<[number, number]>(
        '[innerWidth, document.documentElement.scrollWidth]',
      )
      expect(wanted).toBeLessThanOrEqual(shown)
    }
    await at(addressOf({ view: 'run', run: 'first' }), look, { viewport: { width: 390, height: 844 } })
  })

  test('a branch is no longer being played once its process has ended, without other news', async () => {
    const look = async (page: Page) => {
      let asked = [{ turn: 1, samples: 4, state: 'playing' }]
      // A stream without news that does not open again.
      const silence = { contentType: 'text/event-stream', body: 'retry: 3600000\n\n' }
      await page.route('**/api/live*', (route) => route.fulfill(silence))
      await page.route('**/branches', (route) => route.fulfill({ json: { branches: [], asked } }))
      await page.reload()
      const playing = page.getByText('4 from turn 1: being played')
      await playing.waitFor()
      asked = []
      await playing.waitFor({ state: 'detached' })
    }
    await at(addressOf({ view: 'episode', episode }), look)
  })

  test('a group that taught its update nothing does not count as consumed for learning', async () => {
    for (const [group, name] of [
      ['first/g1', 'Played for'],
      ['first/g0', 'Learnt by'],
    ] as const)
      await at(addressOf({ view: 'group', parent: group }), (page) =>
        page.getByText(name, { exact: true }).waitFor(),
      )
  })

  test('on a telephone the episodes show outcome, reward and turns without scrolling', async () => {
    const look = async (page: Page) => {
      await page.getByRole('heading', { name: 'Episodes', exact: true }).waitFor()
      const cells = page.getByRole('table').getByRole('columnheader')
      await cells.first().waitFor()
      const texts = (await cells.allInnerTexts()).map((text) => text.replace(/[^a-z]/gi, ''))
      expect(texts).toEqual(['Episode', 'Outcome', 'Reward', 'Turns'])
      const [shown, wanted] = await page.evaluate<[number, number]>(
        '(({ clientWidth, scrollWidth }) => [clientWidth, scrollWidth])(document.querySelector(".scrolls"))',
      )
      expect(wanted).toBeLessThanOrEqual(shown)
    }
    const address = addressOf({ view: 'episodes', filter: '' })
    await at(address, look, { viewport: { width: 390, height: 844 } })
  })

  test('on a telephone every button of an episode can be reached', async () => {
    const look = async (page: Page) => {
      await page.getByText('Tokens by').waitFor()
      const ends = await page.evaluate<number[]>(
        '[...document.querySelectorAll("main button")].map((button) => button.getBoundingClientRect().right)',
      )
      expect(ends.length).toBeGreaterThan(3)
      expect(Math.max(...ends)).toBeLessThanOrEqual(390)
    }
    const address = addressOf({ view: 'episode', episode })
    await at(address, look, { viewport: { width: 390, height: 844 } })
  })

  test('what is not there is said in words', async () => {
    await at('#/nothing', async (page) => {
      await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor()
    })
    const context = await browser.newContext()
    const page = await context.newPage()
    await page.goto(`${dashboard.url}#/runs/other`)
    await page.getByRole('alert').getByText('other').waitFor()
    await context.close()
  })
})

/** Faults of accessibility that keep someone out. */
async function seriousFaults(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe)
  const found: { id: string; impact: string; nodes: { html: string }[] }[] = await page.evaluate(
    'axe.run().then(({ violations }) => violations)',
  )
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`)
}
