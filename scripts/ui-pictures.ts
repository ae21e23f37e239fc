/**
 * Makes the pictures of README.md and docs/ui.md: `node scripts/ui-pictures.ts HOME RUN [FOLDER]`. Those of the documents show
 * the run of `npm start`; CI makes them of a small one, into a folder of its own.
 *
 * Invariants
 * - They show a real run: its curves, a group whose samples part, one of its trajectories, and its table of episodes.
 * - Chromium of this machine draws them, and nothing is fetched.
 */
import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { addressOf, type PageView } from '../dashboard/contract/addresses.ts'
import type { EpisodesAnswer } from '../dashboard/contract/episodes.ts'
import type { GroupAnswer } from '../dashboard/contract/group.ts'
import { episodesRoute, groupRoute } from '../dashboard/contract/routes.ts'
import { serveDashboard } from '../dashboard/server.ts'
import { startBrowser } from '../test/host/browser.ts'
import { builtPage } from './build-page.ts'

const viewport = { width: 1280, height: 800 }
/** The time after its text that a picture waits: the curves of a view are drawn within a frame or two. */
const settleMs = 400

interface Picture {
  readonly name: string
  readonly view: PageView
  /** Text that is there once the view is drawn. */
  readonly shows: string
}

const documents = join(dirname(import.meta.dirname), 'docs', 'pictures')
const [home, run, folder = documents] = process.argv.slice(2)
if (home === undefined || run === undefined)
  throw new Error('usage: node scripts/ui-pictures.ts HOME RUN [FOLDER]')
const dashboard = await serveDashboard({ home, port: 0, page: await builtPage() })
try {
  await drawAll(await picturesOf(run))
} finally {
  await dashboard.close()
}

async function picturesOf(name: string): Promise<readonly Picture[]> {
  const group = await telling(name)
  const sample = group.samples.find(({ counts, success }) => counts && success)
  if (sample === undefined) throw new Error(`no sample of ${group.id} has won`)
  const { episode } = sample
  return [
    { name: 'ui-run', view: { view: 'run', run: name }, shows: 'Evaluations' },
    { name: 'ui-episodes', view: { view: 'episodes', filter: `run:${name} is:won` }, shows: 'found' },
    { name: 'ui-group', view: { view: 'group', parent: group.id }, shows: 'part at turn' },
    {
      name: 'ui-trajectory',
      view: { view: 'episode', episode, turn: group.partsAt ?? 0 },
      shows: 'Advantage',
    },
  ]
}

/** The latest group of training that tells most: samples that won beside samples that lost. */
async function telling(name: string): Promise<GroupAnswer> {
  const rows = await answer<EpisodesAnswer>(
    episodesRoute({ filter: `run:${name} kind:group is:won update>=1`, limit: 200 }),
  )
  for (const parent of new Set(rows.rows.map((row) => row.parent))) {
    const group = await answer<GroupAnswer>(groupRoute(parent))
    if (group.partsAt !== null && group.samples.some(({ counts, success }) => counts && !success))
      return group
  }
  throw new Error(`run ${name} has no group with samples that won and that lost`)
}

async function answer<Answer>(route: string): Promise<Answer> {
  const response = await fetch(dashboard.url + route)
  if (!response.ok) throw new Error(`${route}: ${await response.text()}`)
  return (await response.json()) as Answer
}

async function drawAll(pictures: readonly Picture[]): Promise<void> {
  mkdirSync(folder, { recursive: true })
  const browser = await startBrowser()
  try {
    const page = await browser.newPage({ viewport, colorScheme: 'light' })
    for (const { name, view, shows } of pictures) {
      await page.goto('about:blank')
      await page.goto(dashboard.url + addressOf(view))
      await page.getByText(shows).first().waitFor()
      await page.waitForTimeout(settleMs)
      await page.screenshot({ path: join(folder, `${name}.png`) })
      console.log(join(folder, `${name}.png`))
    }
  } finally {
    await browser.close()
  }
}
