/** Text of an environment or an agent is shown as text: in every view of the page, and in a report that is opened as a file. */
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { branchId, episodeId, evaluationId, groupId } from '../identity/identity.ts'
import { builtPage } from '../scripts/build-page.ts'
import { browserMissing, startBrowser } from '../test/host/browser.ts'
import { addressOf } from './contract/addresses.ts'
import { addEpisode, addRun, type FilledHome, openFilledHome } from './filled-home.testing.ts'
import { writeReport } from './report.ts'
import { type Dashboard, serveDashboard } from './server.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const marked = `<img src=x onerror="document.title='hacked'"><script>document.title='hacked'</script>\u001b[31m\u202e`
const hostile = `${marked} ${'x'.repeat(1_000_000)}`
/** Characters that no page may hold as they are: ESC, and marks of direction. */
const acting = '\u001b\u202e'
const absent = browserMissing()

let home: FilledHome
let dashboard: Dashboard
let report: string
let browser: Browser

beforeAll(async () => {
  if (absent !== undefined) return
  home = await openFilledHome()
  const { store } = home
  const run = await addRun(home, 'first', {
    tasks: [{ task: 'echo', from: './echo' }],
    evaluation: { suites: [{ name: 'few', task: 'echo', episodes: 1 }] },
  })
  const group = groupId(run, 0)
  await store.groups.insert({
    id: group,
    run,
    number: 0,
    task: 'echo',
    instance: marked,
    version: 0,
    created: 2000,
  })
  const episodes = [0, 1].map((sample) => episodeId(group, sample, 0))
  for (const [sample, id] of episodes.entries()) await addHostile(id, sample === 0)
  await store.groups.complete(group, {
    status: 'complete',
    episodes,
    rewards: [1, -0.2],
    oldestVersion: 0,
    ended: 3000,
  })
  await store.groups.consume([group], 1)
  const suite = evaluationId(run, 'few', 0, 1)
  await store.evaluations.insert({ id: suite, run, suite: 'few', version: 0, seed: 1, created: 3000 })
  await addHostile(episodeId(suite, 0, 0), true)
  await addHostile(episodeId(branchId(episodeId(group, 0, 0), 1, 0), 0, 0), true)
  await addHostile(episodeId(groupId(run, 1), 0, 0), false, false)
  for (const [number, task] of ['alfworld', 'db', 'kg', 'os', 'webshop'].entries())
    await addHostile(episodeId(groupId(run, 2 + number), 0, 0), true, true, task)
  const said = { version: 0, effectVersion: 0, by: 'me', time: 3300, from: 1, to: 3 }
  await store.audit.append(run, { ...said, what: 'rollout.maxStaleness', reason: marked })
  const page = await builtPage()
  dashboard = await serveDashboard({
    home: home.dir,
    port: 0,
    page,
    cache: `${home.dir}/cache`,
    canSteer: true,
  })
  const out = join(home.dir, 'report')
  report = (await writeReport({ home: home.dir, run, out, page, release: '1', groups: 1 })).file
  browser = await startBrowser()
}, 120_000)

afterAll(async () => {
  if (absent !== undefined) return
  await browser.close()
  await dashboard.close()
  await home[Symbol.asyncDispose]()
})

function addHostile(
  id: Parameters<typeof addEpisode>[1]['id'],
  won: boolean,
  isSealed = true,
  task = 'echo',
): Promise<void> {
  const words = won ? [marked, hostile] : [marked, `${marked} otherwise`]
  return addEpisode(home, { id, task, instance: marked, won, isSealed, text: hostile, words })
}

/** Opens an address and gives the page to a look at it: nothing acts, nothing fails, and nothing else is fetched. */
async function at(
  address: string,
  look: (page: Page) => Promise<void>,
  viewport = { width: 1280, height: 720 },
): Promise<void> {
  const context = await browser.newContext({ viewport })
  try {
    const page = await context.newPage()
    const faults: string[] = []
    page.on('pageerror', (error) => faults.push(error.message))
    page.on('dialog', (dialog) => faults.push(`dialog ${dialog.message()}`))
    page.on('request', (request) => {
      const url = request.url()
      if (!url.startsWith(dashboard.url) && !url.startsWith('file:')) faults.push(`asked ${url}`)
    })
    await page.goto(address)
    await look(page)
    expect(faults).toEqual([])
  } finally {
    await context.close()
  }
}

async function showsText(page: Page): Promise<void> {
  expect(await page.title()).not.toContain('hacked')
  expect(await page.locator('main img, main script').count()).toBe(0)
  const shown = await page.locator('main').evaluate((main) => main.outerHTML)
  for (const character of acting)
    expect(shown, `U+${character.charCodeAt(0).toString(16)}`).not.toContain(character)
  // A line of a megabyte is folded: the document holds a little of each.
  expect(shown.length).toBeLessThan(500_000)
}

async function fits(page: Page): Promise<void> {
  const [shown, wanted] = await page.evaluate<[number, number]>(
    '[innerWidth, document.documentElement.scrollWidth]',
  )
  expect(wanted).toBeLessThanOrEqual(shown)
}

/** Faults of accessibility that keep someone out. */
async function seriousFaults(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe)
  const found: { id: string; impact: string; nodes: { html: string }[] }[] = await page.evaluate(
    'axe.run().then(({ violations }) => violations)',
  )
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 300)).join(' | ')}`)
}

const runAddress = addressOf({ view: 'run', run: 'first' })
const episode = 'first/g0/s0/a0'
const views: readonly (readonly [string, string, string])[] = [
  ['runs', addressOf({ view: 'runs' }), 'first'],
  ['a run', runAddress, 'Progress'],
  ['a configuration', `${runAddress}?tab=configuration`, 'All keys'],
  ['what is in flight', `${runAddress}?tab=now`, 'onerror'],
  ['orders with the audit trail', `${runAddress}?tab=orders`, 'onerror'],
  ['episodes', addressOf({ view: 'episodes', filter: '' }), 'onerror'],
  ['a group', addressOf({ view: 'group', parent: 'first/g0' }), 'onerror'],
  ['an evaluation', addressOf({ view: 'group', parent: 'first/e-few-v0-1' }), 'onerror'],
  ['a branch', addressOf({ view: 'group', parent: `${episode}/b1-v0` }), 'onerror'],
  ['an episode', addressOf({ view: 'episode', episode }), 'onerror'],
  ['a token', addressOf({ view: 'episode', episode, turn: 1, token: 8 }), 'Log-probability'],
  ...['alfworld', 'db', 'kg', 'os', 'webshop'].map(
    (task, at) =>
      [
        `an episode of ${task}`,
        addressOf({ view: 'episode', episode: `first/g${2 + at}/s0/a0`, turn: 1 }),
        'onerror',
      ] as const,
  ),
]

describe.skipIf(absent !== undefined)(`hostile text${absent === undefined ? '' : ` (${absent})`}`, () => {
  test.each(views)(
    '%s: shows it as text, fits the screen, and axe finds nothing serious where one may steer',
    async (_, address, text) => {
      await at(dashboard.url + address, async (page) => {
        await page.getByText(text).first().waitFor()
        await showsText(page)
        await fits(page)
        expect(await seriousFaults(page)).toEqual([])
      })
    },
  )

  test('the page of a run fits a telephone', async () => {
    const telephone = { width: 390, height: 844 }
    for (const tab of ['', '?tab=now', '?tab=configuration', '?tab=orders'])
      await at(
        dashboard.url + runAddress + tab,
        async (page) => {
          await page.getByText('Progress').first().waitFor()
          await fits(page)
        },
        telephone,
      )
  })

  test.each([
    ['the run', runAddress, 'Progress'],
    ['a group', addressOf({ view: 'group', parent: 'first/g0' }), 'onerror'],
    ['an episode', addressOf({ view: 'episode', episode }), 'onerror'],
  ])(
    '%s of a report opens as a file, shows it as text, and axe finds nothing serious',
    async (_, address, text) => {
      expect(existsSync(report)).toBe(true)
      await at(pathToFileURL(report).href + address, async (page) => {
        await page.getByText(text).first().waitFor()
        await showsText(page)
        await fits(page)
        expect(await seriousFaults(page)).toEqual([])
      })
    },
  )
})
