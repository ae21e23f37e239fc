/**
 * The cost of `perdure ui`: how long questions take and how much memory its server has at 100,000 episodes, and what a
 * run loses while three of its pages are open in a browser of the same machine.
 *
 * Invariants
 * - The server is the command, in a process of its own; the pages are those that a person would leave open.
 * - Stretches with pages and without take turns in one run, so that both meet the same weather; each loss compares a stretch
 *   with pages with the mean of the two beside it, and the interval of their mean says what it is worth.
 * - A stretch begins and ends with an update: otherwise where it falls in them counts more than pages do.
 * - Turns are counted as the store has them.
 * - The browser has what the rest leaves, as if it were on another machine; what it takes on this one is a figure of its own.
 */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser } from 'playwright-core'
import { addressOf, type PageView } from '../dashboard/contract/addresses.ts'
import { openFilledHome } from '../dashboard/filled-home.testing.ts'
import { costsOf, fillWithMany, type ShowingCosts, startShowing } from '../dashboard/many-episodes.testing.ts'
import { meanInterval } from '../learning/student-t.ts'
import { shellWord } from '../machine/shell-word.ts'
import { browserMissing, browserProgram, startBrowser } from '../test/browser.ts'
import { eventually, removeHome, startPerdureIn } from '../test/perdure-process.ts'
import type { Figure } from './figure.ts'
import { cpuSecondsOf } from './process-use.ts'
import { quantile } from './quantile.ts'

/** Several updates of the default run; it goes on to the end of the last. */
const stretchSeconds = 30
const defaultStretches = 21
/** Two with pages, each between two without: of one loss there is no interval. */
const leastStretches = 5
const watched = 'watched'

/**
 * @param given.stretches with and without pages, by turns; 0 leaves the run out
 * @param given.episodes 0 leaves the home of 100,000 out
 * @param given.home, given.run a run that trains already; else the default run is started
 */
export async function bench(given: Readonly<Record<string, number | string>>): Promise<Figure[]> {
  const stretches = Number(given.stretches ?? defaultStretches)
  const home = Number(given.episodes ?? 1) === 0 ? [] : await ofManyEpisodes()
  if (stretches === 0) return home
  if (stretches < leastStretches) throw new RangeError(`--stretches is 0, or ${leastStretches} at least`)
  const missing = browserMissing()
  if (missing !== undefined) throw new Error(missing)
  const { home: own, run } = given
  const losses =
    own === undefined
      ? await besideANewRun(stretches)
      : await besideARun(String(own), String(run ?? watched), stretches)
  return [...home, ...losses]
}

async function ofManyEpisodes(): Promise<Figure[]> {
  await using home = await openFilledHome()
  console.error('a home of 100,000 episodes is made')
  await fillWithMany(home)
  await using showing = await startShowing(home.dir)
  const { firstView, filters, trajectories, megabytes, indexingSeconds } = await costsOf(showing)
  const p95 = (all: ShowingCosts['filters']) =>
    quantile(
      all.map(({ ms }) => ms),
      0.95,
    )
  return [
    limited('first view', firstView.ms, 'ms', 1000),
    limited('filters and searches, p95', p95(filters), 'ms', 300),
    limited('trajectories, p95', p95(trajectories), 'ms', 200),
    limited("server's memory", megabytes, 'MB', 300),
    { name: 'until all words are found', value: indexingSeconds, unit: 's' },
  ]
}

/** A figure beside the most that it may be. */
function limited(name: string, value: number, unit: string, reference: number): Figure {
  return { name, value, unit, reference, ratio: value / reference }
}

/** The pages that a person may leave open: the run's curves, its episodes in progress, its finished episodes. */
function pagesOf(run: string): readonly (readonly [PageView, string])[] {
  return [
    [{ view: 'run', run }, ''],
    [{ view: 'run', run }, '?tab=now'],
    [{ view: 'episodes', filter: `run:${run}` }, ''],
  ]
}

interface Stretch {
  readonly hasPages: boolean
  readonly turnsPerSecond: number
  /** Processor seconds of the page's server in each second. */
  readonly server: number
  /** And of the browser. */
  readonly browser: number
}

async function besideANewRun(count: number): Promise<Figure[]> {
  const home = mkdtempSync(join(tmpdir(), 'perdure-watched-'))
  // Its warm start is not measured: one from the cache will do.
  const free = { PERDURE_NO_CACHE: '' }
  // A run without an end in sight, which only plays and learns: it is stopped when all is measured.
  const wanted = ['training.updates=100000', 'evaluation.every=0', 'evaluation.suites=[]']
  const settings = wanted.flatMap((each) => ['--set', each])
  const training = startPerdureIn(free, home, 'train', '--run', watched, ...settings)
  try {
    await eventually('the second update', () => (updatesOf(home) >= 2 ? true : undefined), 1_200_000)
    return await besideARun(home, watched, count)
  } finally {
    await training.killGroup()
    removeHome(home)
  }
}

async function besideARun(home: string, run: string, count: number): Promise<Figure[]> {
  await using showing = await startShowing(home)
  const folder = mkdtempSync(join(tmpdir(), 'perdure-browser-'))
  const browser = await startBrowser(lastInLine(browserProgram(), folder))
  try {
    const stretches: Stretch[] = []
    for (let at = 0; at < count; at++) {
      const pages = at % 2 === 1 ? pagesOf(run) : []
      stretches.push(await stretch(home, { browser, ...showing, pages }))
      console.error(JSON.stringify(stretches.at(-1)))
    }
    return lossOf(stretches)
  } finally {
    await browser.close()
    await rm(folder, { recursive: true, force: true })
  }
}

/** A program that starts another with the lowest priority, which Chromium would raise where it runs as root. */
function lastInLine(program: string, folder: string): string {
  const file = join(folder, 'browser')
  const kept = process.getuid?.() === 0 ? 'setpriv --bounding-set=-sys_nice' : ''
  writeFileSync(file, `#!/bin/sh\nexec nice -n 19 ${kept} ${shellWord(program)} "$@"\n`, { mode: 0o755 })
  return file
}

async function stretch(
  home: string,
  of: {
    readonly browser: Browser
    readonly url: string
    readonly pid: number
    readonly pages: ReturnType<typeof pagesOf>
  },
): Promise<Stretch> {
  const { browser, url, pid, pages } = of
  const context = await browser.newContext({ viewport: { width: 1280, height: 720 } })
  try {
    for (const [view, tab] of pages) {
      const page = await context.newPage()
      await page.goto(url + addressOf(view) + tab)
      await page.locator('main h1').first().waitFor()
    }
    const begin = await nextUpdate(home)
    const before = { server: await cpuSecondsOf(pid), browser: await cpuSecondsIn(browser) }
    await sleep(stretchSeconds * 1000)
    const end = await nextUpdate(home)
    const seconds = (end.at - begin.at) / 1000
    return {
      hasPages: pages.length > 0,
      turnsPerSecond: (end.turns - begin.turns) / seconds,
      server: ((await cpuSecondsOf(pid)) - before.server) / seconds,
      browser: ((await cpuSecondsIn(browser)) - before.browser) / seconds,
    }
  } finally {
    await context.close()
  }
}

/** The moment of an update, and turns until then. */
async function nextUpdate(home: string): Promise<{ readonly at: number; readonly turns: number }> {
  const before = updatesOf(home)
  return eventually('an update', () =>
    updatesOf(home) > before ? { at: performance.now(), turns: turnsOf(home) } : undefined,
  )
}

/** Processor seconds so far of all processes of a browser that still run. */
async function cpuSecondsIn(browser: Browser): Promise<number> {
  const session = await browser.newBrowserCDPSession()
  try {
    const { processInfo } = await session.send('SystemInfo.getProcessInfo')
    return processInfo.reduce((sum, { cpuTime }) => sum + cpuTime, 0)
  } finally {
    await session.detach()
  }
}

function lossOf(stretches: readonly Stretch[]): Figure[] {
  const losses = stretches.flatMap(({ hasPages, turnsPerSecond }, at) => {
    const [before, after] = [stretches[at - 1], stretches[at + 1]]
    if (!hasPages || before === undefined || after === undefined) return []
    return [1 - turnsPerSecond / ((before.turnsPerSecond + after.turnsPerSecond) / 2)]
  })
  const mean = (values: readonly number[]) => values.reduce((sum, each) => sum + each, 0) / values.length
  const of = (hasPages: boolean) => stretches.filter((each) => each.hasPages === hasPages)
  const millisecondsOf = (part: 'server' | 'browser') => 1000 * mean(of(true).map((each) => each[part]))
  const estimate = meanInterval(losses)
  return [
    {
      name: 'turns per second, no page open',
      value: mean(of(false).map(({ turnsPerSecond }) => turnsPerSecond)),
      unit: 'turns/s',
    },
    {
      name: 'turns per second, three pages open',
      value: mean(of(true).map(({ turnsPerSecond }) => turnsPerSecond)),
      unit: 'turns/s',
    },
    limited('loss with three pages, mean', 100 * estimate.mean, '%', 2),
    { name: 'loss, 95 % from', value: 100 * estimate.low, unit: '%' },
    { name: 'loss, 95 % to', value: 100 * estimate.high, unit: '%' },
    { name: 'loss, median', value: 100 * quantile(losses, 0.5), unit: '%' },
    { name: 'processor time of the server', value: millisecondsOf('server'), unit: 'ms/s' },
    { name: 'processor time of the browser', value: millisecondsOf('browser'), unit: 'ms/s' },
  ]
}

function updatesOf(home: string): number {
  try {
    return numberIn(home, 'select count(*) as n from updates')
  } catch {
    // Before the run has made its store.
    return 0
  }
}

/** Turns are never removed while the run is young, so their rows count them. */
function turnsOf(home: string): number {
  return numberIn(home, 'select max(rowid) as n from actions')
}

function numberIn(home: string, question: string): number {
  const database = new DatabaseSync(join(home, 'store.db'), { readOnly: true })
  try {
    return Number(database.prepare(question).get()?.n ?? 0)
  } finally {
    database.close()
  }
}
