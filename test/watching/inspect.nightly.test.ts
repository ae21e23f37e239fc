/**
 * The Temporal UI as the inspector: what a person finds there of a run, in a real browser on the real server.
 * With PERDURE_PICTURES=DIR the pages are kept as pictures.
 */

import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openSession, type TrainingSession } from '../../client/session/training-session.ts'
import type { RunConfig } from '../../config/schema/schema.ts'
import { pageFolder } from '../../dashboard/page-files.ts'
import { type Dashboard, serveDashboard } from '../../dashboard/server.ts'
import { findEnvironment } from '../../envs/registry.ts'
import {
  type EpisodeId,
  episodeId,
  evaluationId,
  groupId,
  parseEpisodeId,
  runId,
  seedOf,
  uniforms,
} from '../../identity/identity.ts'
import { type PagePlace, pageAddress } from '../../identity/page-address.ts'
import type { Engine } from '../../policy/engines/engine.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { listQuery } from '../../workflows/page/links.ts'
import { blockMs } from '../../workflows/play/evaluation-plan.ts'
import { browserMissing, startBrowser } from '../host/browser.ts'
import { freeze } from '../host/frozen-process.ts'
import { createEchoTask } from '../support/echo-task.ts'
import { fetchHistories } from '../support/executions.ts'
import {
  eventually,
  type PerdureProcess,
  removeHome,
  serverPid,
  startPerdure,
  temporaryHome,
} from '../support/perdure-process.ts'
import {
  createCopyingTrainer,
  createGate,
  createSpeakingEngine,
  openTinySession,
  tinyConfig,
} from '../support/tiny-run.ts'

const missing = browserMissing()
if (missing !== undefined) console.warn(`The Temporal UI is not looked at: ${missing}`)

const pictures = process.env.PERDURE_PICTURES
const home = temporaryHome()
const run = runId('household')
const settings = { difficulty: 'easy', tasks: ['place'], objects: { min: 2, max: 2 } }
/** An episode that is looked at while it plays. */
const live = episodeId(groupId(run, 4), 1, 0)
const reached = createGate()
const looked = createGate()
let session: TrainingSession
let store: Store
let dashboard: Dashboard
let browser: Browser
let context: BrowserContext
let page: Page
let ui: string

/** Plays as the expert does, more often the newer the version is; else it looks around. */
function createPolicy(): Engine {
  const task = findEnvironment('alfworld').open({ settings })
  return createSpeakingEngine(async ({ cacheKey, borders, version }) => {
    const turn = borders.length
    // A turn as long as a block ends it, so that the page has the turns before the one that is held.
    if (cacheKey === live && turn === 1) await sleep(blockMs)
    if (cacheKey === live && turn === 2) {
      reached.open()
      await looked.passed
    }
    const isSkilled = uniforms(seedOf(1, cacheKey))() < 0.3 + 0.2 * version
    const instance = (await store.episodes.get(cacheKey as EpisodeId))?.instance ?? ''
    const demonstration = await (await task).demonstrate?.(instance)
    const [expert] = demonstration?.actions[turn]?.tool_calls ?? []
    const [first] = demonstration?.actions[0]?.tool_calls ?? []
    const look = first && { name: first.name, arguments: withFirst(first.arguments, 'look') }
    return `<tool_call>${JSON.stringify(isSkilled ? (expert ?? look) : look)}</tool_call>`
  })
}

function withFirst(values: Readonly<Record<string, unknown>>, value: string): Record<string, unknown> {
  const [name = 'command'] = Object.keys(values)
  return { ...values, [name]: value }
}

function config(): RunConfig {
  const suites = [{ name: 'held_out', task: 'alfworld', split: 'test', episodes: 12 }]
  const tiny = tinyConfig(
    {
      rollout: { groupSize: 4, groupsPerUpdate: 2, maxTokensPerTurn: 160 },
      policy: {
        hiddenSize: 8,
        layers: 1,
        heads: 1,
        keyValueHeads: 1,
        intermediateSize: 8,
        vocabularySize: 300,
        contextLength: 16_384,
      },
      evaluation: { every: 0, suites },
      orchestration: { dashboardUrl: dashboard.url },
    },
    'alfworld',
  )
  return { ...tiny, tasks: tiny.tasks.map((task) => ({ ...task, turnLimit: 10, settings })) }
}

beforeAll(async () => {
  if (missing !== undefined) return
  store = await openStore(homeAt(home).storeFile)
  session = await openSession({
    home,
    roles: 'all',
    log: () => undefined,
    createEngine: () => Promise.resolve(createPolicy()),
    createTrainer: () => createCopyingTrainer(),
  })
  ui = session.uiUrl ?? ''
  dashboard = await serveDashboard({
    home,
    port: 0,
    page: await pageFolder(),
    cache: join(home, 'cache'),
    temporal: () => ({ url: ui, namespace: 'default', isOwn: true }),
  })
  browser = await startBrowser()
  context = await browser.newContext({ viewport: { width: 1440, height: 900 }, timezoneId: 'UTC' })
  page = await context.newPage()
  await session.start(run, config())
  await reached.passed
}, 180_000)

afterAll(async () => {
  looked.open()
  await browser?.close()
  await dashboard?.close()
  await session?.close()
  await store?.close()
  removeHome(home)
})

/** Opens the page of a workflow as its links do, without naming an execution unless one is given. */
async function openWorkflow(
  id: string,
  tab: 'User Metadata' | 'Event History' | 'Memo',
  execution?: string,
): Promise<void> {
  const path = execution === undefined ? '' : `/${execution}/history`
  await page.goto(`${ui}/namespaces/default/workflows/${encodeURIComponent(id)}${path}`)
  await page.getByRole('heading', { name: id }).first().waitFor()
  await page
    .getByText(tab, { exact: tab === 'Memo' })
    .first()
    .click()
}

/** The text of the page, with the Markdown that it renders. */
async function textOfPage(): Promise<string> {
  const texts = await page.locator('main, body').first().allInnerTexts()
  for (const frame of page.frames())
    if (frame !== page.mainFrame()) texts.push(...(await frame.locator('body').allInnerTexts()))
  return texts.join('\n')
}

/**
 * Waits until the page says all of it. A page asks a workflow for its details once, and shows none where the answer
 * is late; then it is loaded again, as a person would do.
 */
async function reads(...expected: readonly (string | RegExp)[]): Promise<void> {
  let text = ''
  let patientUntil = Date.now() + 10_000
  const isThere = (part: string | RegExp) =>
    typeof part === 'string' ? text.includes(part) : part.test(text)
  try {
    await eventually(
      'the page',
      async () => {
        // Frames come and go while the page is drawn.
        text = await textOfPage().catch(() => '')
        if (expected.every(isThere)) return true
        if (Date.now() > patientUntil) {
          await page.reload()
          patientUntil = Date.now() + 10_000
        }
        return undefined
      },
      30_000,
    )
  } catch {
    expect.fail(`the page lacks ${expected.filter((part) => !isThere(part)).join(', ')}; it says:\n${text}`)
  }
}

/** Follows a link in the details, which opens a page of its own. */
async function follow(link: string): Promise<string> {
  const opened = await openLink(link)
  await opened.waitForURL(/namespaces/)
  const url = opened.url()
  await opened.close()
  return decodeURIComponent(url)
}

async function openLink(link: string): Promise<Page> {
  for (const frame of page.frames()) {
    const found =
      frame === page.mainFrame() ? [] : await frame.getByRole('link', { name: link, exact: true }).all()
    const [first] = found
    if (first === undefined) continue
    const [opened] = await Promise.all([context.waitForEvent('page'), first.click()])
    return opened
  }
  throw new Error(`no link ${link}`)
}

async function keepPicture(name: string): Promise<void> {
  if (pictures === undefined) return
  // Without the bar and the menu that every page has.
  const clip = { x: 256, y: 60, width: 1184, height: 780 }
  await page.screenshot({ path: join(pictures, `${name}.png`), clip })
}

/** The ids of a list, as the page shows them. */
async function listed(query: string): Promise<readonly string[]> {
  await page.goto(`${ui}/namespaces/default/workflows?query=${encodeURIComponent(query)}`)
  await page.getByRole('table').first().waitFor()
  const links = await page
    .locator('table a[href*="/workflows/"]')
    .evaluateAll((all) => all.map((each) => each.getAttribute('href') ?? ''))
  const ids = links.map((href) => decodeURIComponent(/\/workflows\/([^/]+)/.exec(href)?.[1] ?? ''))
  return [...new Set(ids)].toSorted()
}

describe.skipIf(missing !== undefined)('the Temporal UI', () => {
  it('shows an episode while it plays: its turns so far, and the way to its group', async () => {
    await openWorkflow(live, 'User Metadata')
    await reads(/alfworld · train #\d+ · sample 1/, 'playing · 2 turns', 'Last action:', 'temperature 0.8')
    expect(await follow(groupId(run, 4))).toContain(`/workflows/${groupId(run, 4)}`)
    await keepPicture('episode-playing')
  })

  it('shows a group while it plays: which samples have ended, each with the way to its episode', async () => {
    await openWorkflow(groupId(run, 4), 'User Metadata')
    await reads(/alfworld · train #\d+ · version/, /[0-3] of 4 ended/, 'playing', 'mean reward')
    expect(await follow('s1')).toContain(`/workflows/${live}`)
    expect(await follow(run)).toContain(`/workflows/${run}`)
  })

  it('shows a run while it is in progress: its phase, its last rewards, and the ways to its parts', async () => {
    await openWorkflow(run, 'User Metadata')
    await reads(`training run ${run}`, 'training · update 2 of 3', 'In flight', 'mean reward', 'alfworld')
    expect(await follow('g4')).toContain(`/workflows/${groupId(run, 4)}`)
    expect(await follow('episodes below full reward')).toContain(
      `query=WorkflowType="episode" AND PerdureRun="${run}" AND PerdureReward<1`,
    )
    await keepPicture('run')
  })

  it('leads from each workflow to its page of the dashboard, which leads back', async () => {
    const evaluated = evaluationId(run, 'held_out', 0, 1)
    const works: readonly (readonly [PagePlace, string])[] = [
      ['runs', run],
      ['groups', groupId(run, 4)],
      ['groups', evaluated],
      ['episodes', live],
    ]
    for (const [place, id] of works) {
      await openWorkflow(id, 'User Metadata')
      const address = dashboard.url + pageAddress(place, id)
      await reads(address)
      const opened = await openLink(address)
      const back = opened.getByRole('link', { name: 'Workflow' })
      await back.waitFor()
      expect(await back.getAttribute('href')).toBe(
        `${ui}/namespaces/default/workflows/${encodeURIComponent(id)}`,
      )
      await opened.close()
    }
  }, 120_000)

  it('shows a group that has ended', async () => {
    looked.open()
    await session.result(run)
    await openWorkflow(groupId(run, 2), 'User Metadata')
    await reads('4 of 4 ended', 'outcome', /completed|turn_limit/)
    await keepPicture('group')
  })

  it('shows an episode that has ended: every turn with its version, action and reward', async () => {
    const seal = (await store.episodes.get(live))?.seal
    await openWorkflow(live, 'User Metadata')
    await reads(
      `${seal?.outcome} · ${seal?.turns} turns · reward ${seal?.reward}`,
      /turn\s+version\s+action\s+reward/,
    )
    await keepPicture('episode')
  })

  it('names each block of turns in the history of an episode', async () => {
    await openWorkflow(live, 'Event History')
    await reads('playTurns', /turns from 0 on · (newest version|version 0)/)
    await page.getByText('playTurns').last().scrollIntoViewIfNeeded()
    await keepPicture('episode-history')
  })

  it('shows an evaluation: its share of successes, and the ways to its episodes', async () => {
    const id = evaluationId(run, 'held_out', 3, 1)
    await openWorkflow(id, 'User Metadata')
    const stored = (await store.evaluations.list(run)).find((each) => each.id === id)
    await reads('held_out · version 3 · 12 episodes', '12 of 12 episodes have ended', /% succeed/)
    expect(stored?.result?.n).toBe(12)
    expect(await follow('those below full reward')).toContain(`PerdureGroup="${id}"`)
    await keepPicture('evaluation')
  })

  it('finds failed episodes of a task from a version on', async () => {
    const query = listQuery('episode', [
      ['task', '=', 'alfworld'],
      ['version', '>', 0],
      ['reward', '<', 1],
    ])
    const failed = (await store.episodes.page(run, '', 1000))
      .filter(({ seal }) => seal.reward !== null && seal.reward < 1)
      .map(({ id }) => id)
    const parents = [...(await store.groups.list(run)), ...(await store.evaluations.list(run))]
    const versionOf = new Map<string, number>(parents.map(({ id, version }) => [id, version]))
    const wanted = failed.filter((id) => (versionOf.get(parseEpisodeId(id).parent) ?? 0) > 0)
    expect(wanted.length).toBeGreaterThan(0)
    expect(wanted.length).toBeLessThan(failed.length)
    let found: readonly string[] = []
    // The list lags behind what has ended.
    await eventually(
      'the list',
      async () => {
        found = await listed(query)
        return found.length === wanted.length || undefined
      },
      30_000,
    ).catch(() => undefined)
    expect(found).toEqual(wanted.toSorted())
    await keepPicture('failed-episodes')
  })
})

describe.skipIf(missing !== undefined)('the Temporal UI while nothing but `perdure ui` runs', () => {
  const finished = runId('finished')
  const finishedHome = temporaryHome()
  const updates = 5
  let serving: PerdureProcess
  /** Executions of the run, the first one first. */
  let chain: readonly string[] = []

  beforeAll(async () => {
    const { definition } = createEchoTask()
    const playing = await openTinySession(finishedHome, definition)
    try {
      const suites = [{ name: 'few', task: 'echo', episodes: 2 }]
      const sections = { training: { updates }, orchestration: { historyEvents: 100 } }
      await playing.start(finished, tinyConfig({ ...sections, evaluation: { every: updates, suites } }))
      await playing.result(finished)
      const executions = await fetchHistories(finishedHome)
      chain = executions
        .flatMap(({ workflowId, runId }) => (workflowId === finished ? runId : []))
        .toReversed()
    } finally {
      await playing.close()
    }
    serving = startPerdure(finishedHome, 'ui')
    ui = await eventually('the UI', () => /Temporal UI: (http:\/\/\S+)/.exec(serving.output())?.[1])
  }, 240_000)

  afterAll(async () => {
    await serving?.killGroup()
    removeHome(finishedHome)
  })

  // [DETAILS-1]
  it('shows of each execution of a run how far it came, and of the last one how the run ended', async () => {
    expect(chain.length).toBeGreaterThanOrEqual(2)
    for (const execution of chain.slice(0, -1)) {
      await openWorkflow(finished, 'Memo', execution)
      await reads(/training · update \d of 5 · version \d/, 'mean reward', 'continued in a new execution')
    }
    await openWorkflow(finished, 'Memo', chain.at(-1))
    await reads('done · update 5 of 5 · version 5', 'echo | 50.0 % | 0.5 | 4', 'few | 5 | 50.0 % | 2')
    await keepPicture('run-memo')
  })

  it('shows of a group, an episode and an evaluation how they ended, with reward and version', async () => {
    const group = groupId(finished, 1)
    await openWorkflow(group, 'Memo')
    await reads('2 of 2 ended · 1 succeeded · mean reward 0.5', 's0 | 1 | completed | 3')
    await openWorkflow(episodeId(group, 0, 0), 'Memo')
    await reads('completed · 3 turns · reward 1', 'turn | version | action | reward', '2 | 0 | say(yes) | 1')
    await keepPicture('episode-memo')
    await openWorkflow(evaluationId(finished, 'few', updates, 1), 'Memo')
    await reads('few · version 5 · 2 episodes', '50 % succeed: 1 of 2', '2 of 2 episodes have ended')
  })

  it('a second `perdure ui` serves its page while it waits for the server, and is ended by Ctrl-C', async () => {
    const server = serverPid(finishedHome) ?? 0
    await freeze(server)
    try {
      const waiting = startPerdure(finishedHome, 'ui')
      await eventually(
        'the word of the second one',
        () => waiting.output().includes('does not answer') || undefined,
      )
      waiting.child.kill('SIGINT')
      const { code, stdout } = await waiting.ended
      expect(code).toBe(0)
      expect(stdout).toMatch(/^Page of .*: http:/m)
      expect(stdout).not.toContain('Temporal UI:')
      expect(serverPid(finishedHome)).toBe(server)
    } finally {
      process.kill(server, 'SIGCONT')
    }
  }, 120_000)
})
