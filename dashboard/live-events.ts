/**
 * Live events: what is new in a home, for the pages that are open.
 *
 * Invariants
 * - [LIVE-1] The store is looked at once in `lookEveryMs` for all pages together, only while one is open, and only where
 *   something was written since.
 * - [LIVE-2] A page that is new hears of every run and of what is played; then each hears what differs from what was said
 *   last.
 * - [LIVE-3] A run that has ended is read once, and again when its record or its evaluations differ.
 * - A look that fails is reported to no page: the next one is tried.
 */
import { storedConfig } from '../config/files/stored-config.ts'
import type { TrainingState } from '../contract/training-state.ts'
import { actionSummary } from '../messages/action-summary.ts'
import type { AssistantMessage } from '../messages/message.ts'
import type { EvaluationCounts } from '../storage/records/evaluations.ts'
import type { StoredRun } from '../storage/records/runs.ts'
import { withUpdates } from './answers/episodes.ts'
import { phaseOf } from './answers/known-run.ts'
import type { EpisodeInFlight, LiveEvents, LiveRun } from './contract/live.ts'
import type { ShownHome } from './home/shown-home.ts'

/** A look has a cost, here and in each page that shows its news, which a run on the same machine feels. */
const lookEveryMs = 3000
const mostInFlight = 200
const mostEnded = 50

export type LiveEvent = {
  [Name in keyof LiveEvents]: { readonly event: Name; readonly data: LiveEvents[Name] }
}[keyof LiveEvents]

export interface LiveFeed extends AsyncDisposable {
  /** @param run only of this one, where given @returns ends it */
  listen(run: string | undefined, hear: (event: LiveEvent) => void): () => void
}

interface Listener {
  readonly run: string | undefined
  readonly hear: (event: LiveEvent) => void
}

export function createLiveFeed(shown: ShownHome, log: (line: string) => void): LiveFeed {
  const listeners = new Set<Listener>()
  const said = new Map<string, LiveEvent>()
  /** The last event of each run that has ended. */
  const finalEvents = new Map<string, string>()
  let timer: NodeJS.Timeout | undefined
  let looking: Promise<void> | undefined
  let mark: number | string | undefined
  let since = Date.now()

  /** Tells all who want to know, unless it is what was said last. */
  function tell(key: string, event: LiveEvent): void {
    const before = said.get(key)
    if (before !== undefined && JSON.stringify(before) === JSON.stringify(event)) return
    said.set(key, event)
    for (const listener of listeners) if (concerns(event, listener)) listener.hear(event)
  }

  async function look(): Promise<void> {
    const { feed, runs } = shown.store
    const now = await feed.changeMark()
    tell('search', { event: 'search', data: shown.index.state() })
    if (now === mark) return
    mark = now
    await shown.index.refresh()
    const stored = await runs.list()
    const counts = await shown.store.evaluations.counts()
    for (const record of stored) {
      const evaluations = counts.get(record.id) ?? { begun: 0, ended: 0, failed: 0 }
      const { id, status, ended, version } = record
      const now = JSON.stringify([status, ended, version, evaluations])
      if (finalEvents.get(id) === now) continue
      await tellRun(shown, { record, evaluations }, tell)
      if (status === 'running') finalEvents.delete(id)
      else finalEvents.set(id, now)
    }
    for (const { id } of stored.filter(({ status }) => status === 'running'))
      tell(`flight ${id}`, { event: 'flight', data: await inFlight(shown, id) })
    since = await tellEnded(shown, since, listeners)
  }

  function lookNow(): void {
    looking ??= look()
      .catch((error: unknown) => log(`looking for what is new failed: ${String(error)}`))
      .finally(() => (looking = undefined))
  }

  function start(): void {
    if (timer !== undefined) return
    since = Date.now()
    mark = undefined
    timer = setInterval(lookNow, lookEveryMs)
  }

  function stop(): void {
    clearInterval(timer)
    timer = undefined
    said.clear()
    finalEvents.clear()
  }

  return {
    listen(run, hear) {
      const listener = { run, hear }
      for (const event of said.values()) if (concerns(event, listener)) hear(event)
      listeners.add(listener)
      start()
      lookNow()
      return () => {
        listeners.delete(listener)
        if (listeners.size === 0) stop()
      }
    },
    async [Symbol.asyncDispose]() {
      listeners.clear()
      stop()
      await looking
    },
  }
}

function concerns({ data }: LiveEvent, { run }: Listener): boolean {
  return run === undefined || !('run' in data) || data.run === run
}

async function tellRun(
  { store }: ShownHome,
  { record, evaluations }: { record: StoredRun; evaluations: EvaluationCounts },
  tell: (key: string, event: LiveEvent) => void,
): Promise<void> {
  const { id, status, version } = record
  const state = ((await store.runs.state(id)) ?? { phase: 'starting' }) as Pick<TrainingState, 'phase'>
  const trail = await store.audit.list(id)
  const step = (await store.updates.latest(id))?.step ?? 0
  const data: LiveRun = {
    run: id,
    status,
    phase: phaseOf({ record, state, trail }),
    step,
    updates: storedConfig(record.config).training.updates,
    version: version ?? null,
  }
  tell(`run ${id}`, { event: 'run', data })
  tell(`metrics ${id}`, { event: 'metrics', data: { run: id, step, evaluations } })
}

async function inFlight({ index, store }: ShownHome, run: string): Promise<LiveEvents['flight']> {
  const { rows, count } = index.played(run, mostInFlight)
  const episodes: EpisodeInFlight[] = []
  for (const { episode, task, instance, created } of rows) {
    const last = await store.feed.lastAction(episode)
    episodes.push({
      episode,
      task,
      instance,
      created,
      turns: last === undefined ? 0 : last.turn + 1,
      lastAction: last === undefined ? null : actionSummary(JSON.parse(last.message) as AssistantMessage),
    })
  }
  return { run, episodes, count }
}

/** @returns the number up to which ended episodes were reported */
async function tellEnded(shown: ShownHome, since: number, listeners: ReadonlySet<Listener>): Promise<number> {
  const ended = shown.index.endedSince(since, 10 * mostEnded)
  for (const [run, own] of Map.groupBy(ended, (row) => row.run)) {
    const episodes = await withUpdates(shown, own.slice(0, mostEnded))
    const event: LiveEvent = { event: 'ended', data: { run, episodes, count: own.length } }
    for (const listener of listeners) if (concerns(event, listener)) listener.hear(event)
  }
  return ended[0]?.ended ?? since
}
