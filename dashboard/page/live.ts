/**
 * News from the server, as signals.
 *
 * Invariants
 * - One stream for the whole page; the browser opens it again when it breaks.
 * - [LIVE-PAGE-1] Views are asked to look again at most once in `pause`, however fast a run is, and only at what differs; in a page
 *   that no one sees, when it is seen again.
 * - Nothing grows without bound: of episodes that ended the last ones are kept.
 */
import { signal } from '@preact/signals'
import type { EpisodeRow } from '../contract/episodes.ts'
import type { SearchState } from '../contract/home.ts'
import type { EpisodeInFlight, LiveEvents, LiveRun } from '../contract/live.ts'
import { liveRoute } from '../contract/routes.ts'
import { report } from './source.ts'

/** A view that looks again redraws all of its curves, on a processor that it may share with the run. */
const pause = 5000
/** News that come together are looked at together. */
const gathering = 500
const keptEnded = 50

export interface Flight {
  readonly episodes: readonly EpisodeInFlight[]
  readonly count: number
}

/** Whether the stream is open; undefined before it was. */
export const isConnected = signal<boolean | undefined>(undefined)
export const liveRuns = signal<Readonly<Record<string, LiveRun>>>({})
/** By run. */
export const flights = signal<Readonly<Record<string, Flight>>>({})
/** By run, the latest first. */
export const endedEpisodes = signal<Readonly<Record<string, readonly EpisodeRow[]>>>({})
/** Episodes that ended since the page was opened, of all runs. */
export const endedCount = signal(0)
export const searchState = signal<SearchState | undefined>(undefined)
/** Grows when there is something new of any run to ask the routes for. */
export const news = signal(0)

/** Counts of news by run; under `''` for all of them. */
type Counts = Readonly<Record<string, number>>
const runNews = signal<Counts>({})
const findingNews = signal<Counts>({})

/** Grows when there is something new of these runs. */
export function newsOf(...runs: readonly string[]): number {
  return sumOf(runNews.value, runs)
}

/** Grows when evaluations of these runs began or ended, or runs did; without names, of any run. */
export function findingNewsOf(...runs: readonly string[]): number {
  return sumOf(findingNews.value, runs.length === 0 ? Object.keys(findingNews.value) : runs)
}

function sumOf(counts: Counts, runs: readonly string[]): number {
  return [...new Set(['', ...runs])].reduce((sum, run) => sum + (counts[run] ?? 0), 0)
}

/** News that are not announced yet: runs, and whether evaluations or states are new. */
const coming = new Map<string, boolean>()
/** When views were asked to look again last. */
let looked = Number.NEGATIVE_INFINITY
/** By run, what was heard of it last. */
const statuses = new Map<string, string>()
const evaluations = new Map<string, string>()

/** Opens the stream; a report has none. */
export function listen(): void {
  if (report !== undefined) return
  const stream = new EventSource(liveRoute())
  stream.onopen = () => {
    // News during the break were missed.
    if (isConnected.peek() !== undefined) announce('', true)
    isConnected.value = true
  }
  stream.onerror = () => {
    isConnected.value = false
  }
  on(stream, 'run', (run) => {
    liveRuns.value = { ...liveRuns.peek(), [run.run]: run }
    announce(run.run, isOther(statuses, run.run, `${run.status} ${run.phase}`))
  })
  on(stream, 'metrics', ({ run, evaluations: found }) =>
    announce(run, isOther(evaluations, run, JSON.stringify(found))),
  )
  on(stream, 'flight', ({ run, episodes, count }) => {
    flights.value = { ...flights.peek(), [run]: { episodes, count } }
  })
  on(stream, 'ended', ({ run, episodes, count }) => {
    endedCount.value += count
    const before = endedEpisodes.peek()[run] ?? []
    endedEpisodes.value = {
      ...endedEpisodes.peek(),
      [run]: [...episodes, ...before].slice(0, keptEnded),
    }
  })
  on(stream, 'search', (state) => {
    searchState.value = state
  })
}

function on<Name extends keyof LiveEvents>(
  stream: EventSource,
  name: Name,
  take: (value: LiveEvents[Name]) => void,
): void {
  // The server writes what the contract says.
  stream.addEventListener(name, (event) => take(JSON.parse((event as MessageEvent<string>).data)))
}

/** Takes in what was heard. @returns whether it differs from what was heard before */
function isOther<Value>(heard: Map<string, Value>, run: string, now: Value): boolean {
  const differs = heard.get(run) !== now
  heard.set(run, now)
  return differs
}

/** At once, for one who has just ordered something of the run. */
export function lookAgainAt(run: string): void {
  grow(new Map([[run, true]]))
}

function announce(run: string, hasFindings: boolean): void {
  if (coming.size === 0) setTimeout(growWhenSeen, Math.max(gathering, looked + pause - performance.now()))
  coming.set(run, hasFindings || coming.get(run) === true)
}

function growWhenSeen(): void {
  if (document.hidden) {
    document.addEventListener('visibilitychange', growWhenSeen, { once: true })
    return
  }
  looked = performance.now()
  grow(coming)
  coming.clear()
}

function grow(of: ReadonlyMap<string, boolean>): void {
  news.value++
  runNews.value = grown(runNews.peek(), [...of.keys()])
  const found = [...of].flatMap(([run, hasFindings]) => (hasFindings ? [run] : []))
  if (found.length > 0) findingNews.value = grown(findingNews.peek(), found)
}

function grown(counts: Counts, runs: readonly string[]): Counts {
  return { ...counts, ...Object.fromEntries(runs.map((run) => [run, (counts[run] ?? 0) + 1])) }
}
