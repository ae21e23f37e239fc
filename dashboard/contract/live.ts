/**
 * Live events: what the server says of its own accord, as server-sent events.
 *
 * Invariants
 * - An event says that something is new, with a few figures; what it is made of is asked for by routes.
 * - A client that was away misses events: it asks the routes again when the stream opens.
 */

import type { RunPhase, RunStatus } from '../../learning/run/run-phase.ts'
import type { EpisodeRow } from './episodes.ts'
import type { SearchState } from './home.ts'

/** By the name of the event; its data is the JSON of the value. */
export interface LiveEvents {
  /** A run is new, or differs from what was said last. */
  readonly run: LiveRun
  /** Updates were stored, or evaluations began or ended: `curves` and `evaluations` have more. */
  readonly metrics: LiveMetrics
  /** Episodes that ended since the last event, the latest 50. */
  readonly ended: { readonly run: string; readonly episodes: readonly EpisodeRow[]; readonly count: number }
  /** All that are played now, the latest 200. */
  readonly flight: {
    readonly run: string
    readonly episodes: readonly EpisodeInFlight[]
    readonly count: number
  }
  readonly search: SearchState
}

export interface LiveMetrics {
  readonly run: string
  readonly step: number
  readonly evaluations: { readonly begun: number; readonly ended: number; readonly failed: number }
}

export interface LiveRun {
  readonly run: string
  readonly status: RunStatus
  readonly phase: RunPhase
  readonly step: number
  readonly updates: number
  readonly version: number | null
}

export interface EpisodeInFlight {
  readonly episode: string
  readonly task: string
  readonly instance: string
  readonly created: number
  readonly turns: number
  /** In a few words; null before the first. */
  readonly lastAction: string | null
}
