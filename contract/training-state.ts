/**
 * State of a training run, which is carried over when it continues as new.
 *
 * Invariants
 * - [STATE-1] The state is plain JSON: equal to itself after a round trip.
 * - [STATE-2] It is bounded by `learning/run/state-bounds.ts` however long the run lasts; the store has the rest.
 * - [STATE-3] A group is in flight, ready, skipped, in training or gone, never two of them; a second report changes nothing.
 * - [STATE-4] At most (η + 1)·B groups are admitted beyond those whose update is published.
 * - [STATE-5] No group grows older than η updates while it waits: an update waits for groups that otherwise would.
 * - [GATE-SETTINGS-1] An order to the running run holds over its configuration, gate by gate.
 */
import type { RunConfig } from '../config/schema/schema.ts'
import type { RunId } from '../identity/identity.ts'
import { bestOf } from '../learning/evaluation/best-version.ts'
import { isComplete } from '../learning/evaluation/evaluation-completeness.ts'
import type { MemberWeight } from '../learning/rollout/adaptive-pool.ts'
import { firstPool } from '../learning/rollout/cross-policy.ts'
import type { Standstill } from '../learning/run/learning-signal.ts'
import { liveSettings } from '../learning/run/live-settings.ts'
import type { RunPhase } from '../learning/run/run-phase.ts'
import { settingsInForce } from '../learning/run/settings-in-force.ts'
import {
  clipped,
  latestEvaluations,
  nameBytes,
  otherEvaluations,
  shortTextBytes,
} from '../learning/run/state-bounds.ts'
import type { AuditEntry } from '../storage/records/audit.ts'
import type {
  EvaluationSummary,
  FailedEvaluation,
  LearningChange,
  RolloutChange,
  WarmStartProgress,
} from './messages.ts'

/** A group that is being played. */
export interface GroupInFlight {
  readonly number: number
  readonly taskIndex: number
  readonly version: number
  readonly pool: readonly number[]
  readonly position: number
}

/** Instances that are left out because the environment's own code fails on them. */
export interface LeftOutInstances {
  /** Number of losses since the run began, or was continued. */
  readonly count: number
  /** Groups since the last one with a result. */
  readonly inARow: number
  /** Reason of the latest loss. */
  readonly reason: string
  /** The latest instances, as the rest of their position by the size of the split. */
  readonly places: readonly { readonly taskIndex: number; readonly place: number }[]
  /** By task: positions that were passed over; empty where none was. */
  readonly passed: readonly number[]
}

/** A finished group that waits for its update. */
export interface GroupReady {
  readonly number: number
  readonly version: number
}

/** Finished groups that teach nothing and fill no batch; an update consumes them with its own. */
export interface SkippedGroups {
  /** Number of the update. */
  readonly step: number
  readonly numbers: readonly number[]
}

/** An evaluation that is being done. */
export interface Evaluating {
  readonly suite: string
  readonly version: number
  /** Executions of it that ended without a result. */
  readonly lost?: number
  /** The last of these executions is counted, and the next step has not begun. */
  readonly waits?: 'for_another' | 'to_be_given_up'
}

/** All that a run knows; the input of its workflow. Only functions in `transitions/` change it. */
export interface TrainingState {
  readonly run: RunId
  readonly config: RunConfig
  readonly phase: RunPhase
  /** Chunks of the warm start that are done; null before it is prepared. */
  readonly warmStart: WarmStartProgress | null
  readonly version: number
  readonly step: number
  readonly nextGroup: number
  /** Groups admitted per task: the cursor of each task. */
  readonly admitted: readonly number[]
  readonly weights: readonly number[]
  readonly learning: LearningChange
  readonly rollout: RolloutChange
  /** Absent until one is ordered. */
  readonly gateDrops?: GateDrops
  /** Absent until one is ordered. */
  readonly fleetShare?: number
  readonly pool: readonly number[]
  /** Weights of pool members that updates have measured; where sampling adapts. */
  readonly memberWeights: readonly MemberWeight[]
  readonly inFlight: readonly GroupInFlight[]
  readonly ready: readonly GroupReady[]
  readonly training: readonly GroupReady[]
  /** For the update in progress and the next one. */
  readonly skipped: readonly SkippedGroups[]
  /** Instances of the split that each task trains on, null without an end; absent until the policy is prepared. */
  readonly sizes?: readonly (number | null)[]
  /** Absent while no instance is left out. */
  readonly leftOut?: LeftOutInstances
  readonly episodes: number
  readonly tokens: number
  readonly staleness: number
  readonly success: Readonly<Record<string, number>>
  readonly reward: Readonly<Record<string, number>>
  readonly samples: Readonly<Record<string, number>>
  /** Updates that had nothing to learn from: all of them, and the latest ones in a row. */
  readonly emptyUpdates: number
  readonly nothingLearnt: Standstill | null
  /** The best, the latest and the latest complete one of each suite, with their figures alone. */
  readonly evaluations: readonly EvaluationSummary[]
  readonly evaluating: readonly Evaluating[]
  /** The latest that were given up. */
  readonly failedEvaluations: readonly FailedEvaluation[]
  readonly paused: boolean
  /** Why it is paused, in words; null without a reason. */
  readonly pauseReason: string | null
  /** Present once the run has spent its budget: no update follows. */
  readonly isSpent?: true
  readonly stopRequested: boolean
  /** The run stops without waiting for the update in progress. */
  readonly stopNow: boolean
  /** The version whose weights the run continues from after the update in progress. */
  readonly rollBackTo: number | null
  /** The first version of the line that is trained now: newer versions before it were rolled back. */
  readonly lineStart: number
  /** The latest versions that a person asked to keep; the audit trail has all. */
  readonly pinned: readonly number[]
  /** Groups given up because they would have grown too old. */
  readonly givenUp: number
  /** Groups in a row that ended without a result. */
  readonly fruitless: number
  /** Number of orders so far, and the orders that wait for the update in progress, the latest of each kind. */
  readonly orders: number
  readonly unsettled: readonly AuditEntry[]
  /** True when an earlier execution ended with groups in flight: the next one looks for them first. */
  readonly reattach: boolean
  /** Step of the newest update that an earlier execution made and did not publish; null where there is none. */
  readonly made: number | null
  readonly startedAt: number
  /** Why it failed. */
  readonly message?: string
}

/** By the position of a gate, the largest loss that an order allows it. */
export type GateDrops = Readonly<Record<number, number>>

/** The state of a run that has not begun. */
export function initialState(run: RunId, config: RunConfig, startedAt: number): TrainingState {
  return {
    run,
    config,
    phase: 'starting',
    warmStart: null,
    version: 0,
    step: 0,
    nextGroup: 0,
    admitted: config.tasks.map(() => 0),
    weights: config.tasks.map((task) => task.weight),
    learning: {},
    rollout: {},
    pool: firstPool(config.crossPolicy),
    memberWeights: [],
    inFlight: [],
    ready: [],
    training: [],
    skipped: [],
    episodes: 0,
    tokens: 0,
    staleness: 0,
    success: {},
    reward: {},
    samples: {},
    emptyUpdates: 0,
    nothingLearnt: null,
    evaluations: [],
    evaluating: [],
    failedEvaluations: [],
    paused: false,
    pauseReason: null,
    stopRequested: false,
    stopNow: false,
    rollBackTo: null,
    lineStart: 0,
    pinned: [],
    givenUp: 0,
    fruitless: 0,
    orders: 0,
    unsettled: [],
    reattach: false,
    made: null,
    startedAt,
  }
}

/** True once the warm start is done: version 0 is published, or is next. */
export function isWarm({ warmStart }: Pick<TrainingState, 'warmStart'>): boolean {
  return warmStart !== null && warmStart.done === warmStart.total
}

/** An order with its texts cut to the bounds of the state. */
export function boundedOrder<Entry extends Pick<AuditEntry, 'by' | 'reason'>>(entry: Entry): Entry {
  const { by, reason } = entry
  return {
    ...entry,
    by: clipped(by, nameBytes),
    reason: reason === null ? null : clipped(reason, shortTextBytes),
  }
}

/** The best, the latest and the latest complete evaluation of each configured suite, and the latest of other suites. */
export function keptEvaluations({
  evaluations,
  config,
}: Pick<TrainingState, 'evaluations' | 'config'>): readonly EvaluationSummary[] {
  const suites = new Set(config.evaluation.suites.map(({ name }) => name))
  const kept = new Set<EvaluationSummary>(
    evaluations.filter(({ suite }) => !suites.has(suite)).slice(-otherEvaluations),
  )
  for (const own of Map.groupBy(evaluations, ({ suite }) => suite).values()) {
    if (!suites.has(own[0]?.suite ?? '')) continue
    const best = bestOf(own)
    if (best !== undefined) kept.add(best)
    const inOrder = own.toSorted((a, b) => a.version - b.version)
    const latestComplete = inOrder.findLast(isComplete)
    if (latestComplete !== undefined) kept.add(latestComplete)
    for (const latest of inOrder.slice(-latestEvaluations)) kept.add(latest)
  }
  return evaluations
    .filter((each) => kept.has(each))
    .map(({ suite, version, success, measured, n, planned }) => ({
      ...{ suite, version, success, n, planned },
      ...(measured === undefined ? {} : { measured }),
    }))
}

/** A run as the store has it. */
export interface StoredCourse {
  readonly run: RunId
  readonly config: RunConfig
  /** Milliseconds since the epoch. */
  readonly created: number
  /** As it was last stored; absent where nothing was published. */
  readonly state?: TrainingState
  /** Step of an update that was made since; null where none was. */
  readonly made: number | null
}

type Gate = RunConfig['evaluation']['gates'][number]

/** @param of the configuration of a run with the orders since */
export function gatesInForce(of: {
  readonly config: RunConfig
  readonly gateDrops?: GateDrops
}): readonly Gate[] {
  return of.config.evaluation.gates.map((gate, position) =>
    settingsInForce(gate, { drop: of.gateDrops?.[position] }),
  )
}

/** The run's share of the workers of a fleet; a run of an earlier build has none in its configuration. */
export function fleetShare({
  config,
  fleetShare: ordered,
}: Pick<TrainingState, 'fleetShare'> & { readonly config: Partial<RunConfig> }): number {
  return ordered ?? config.fleet?.share ?? liveSettings['fleet.share'].default
}

/** @param of the configuration of a run with the orders since */
export function rolloutSettings(of: { readonly config: RunConfig; readonly rollout: RolloutChange }): {
  readonly groupsPerUpdate: number
  readonly maxStaleness: number
  readonly groupsInFlight: number | null
} {
  const { groupsPerUpdate, maxStaleness, groupsInFlight = null } = of.config.rollout
  return settingsInForce({ groupsPerUpdate, maxStaleness, groupsInFlight }, of.rollout)
}
