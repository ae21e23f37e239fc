/** Branches: playing on from a turn of a recorded episode. */
import type { EpisodeRow } from './episodes.ts'

/** The body of a request for a branch. */
export interface BranchWish {
  /** The first turn that is played again, from 0. */
  readonly turn: number
  /** 1 by default, at most 64. */
  readonly samples?: number
  /** The version that plays on; the run's newest by default. */
  readonly version?: number
}

/** It has begun; what it plays appears in `BranchesAnswer`. */
export interface BranchStarted {
  readonly episode: string
  readonly turn: number
}

export interface BranchRow {
  /** e.g. `first/g3/s0/a0/b2-v5`. */
  readonly branch: string
  readonly turn: number
  readonly version: number
  readonly samples: readonly EpisodeRow[]
}

export interface BranchesAnswer {
  readonly branches: readonly BranchRow[]
  /** Asked for from this page, and not yet over or ended with a fault. */
  readonly asked: readonly {
    readonly turn: number
    readonly samples: number
    readonly state: 'playing' | 'failed'
    /** Why it failed. */
    readonly reason?: string
  }[]
}
