/**
 * State of a training run: what is carried over when it continues as new, and how it changes.
 *
 * Invariants
 * - The state is plain JSON: equal to itself after a round trip.
 * - It is bounded by `learning/state-bounds.ts` however long the run goes on; the store has the rest.
 * - A group is in flight, ready, in training or gone, never two of them; a second report changes nothing.
 * - At most (η + 1)·B groups are admitted beyond those whose update is published.
 * - No group is left behind to grow older than η updates: an update waits for those that would.
 * - A state of an earlier release is read with what it lacks at its default.
 */
import type { AuditEntry } from '../activities/audit.ts'
import type { RunConfig } from '../config/schema.ts'
import { type GroupId, groupId, type RunId } from '../identity.ts'
import { admissible, nextBatch, overdue } from '../learning/admission.ts'
import { type LearningSignal, type Standstill, standstillAfter } from '../learning/learning-signal.ts'
import {
  carriedFailures,
  carriedPins,
  clipped,
  evaluationsInFlight,
  latestEvaluations,
  mostEvaluations,
  nameBytes,
  otherEvaluations,
  shortTextBytes,
  textBytes,
} from '../learning/state-bounds.ts'
import { rolloutSettings } from './live-settings.ts'
import type {
  EvaluationSummary,
  FailedEvaluation,
  GroupReport,
  LearningChange,
  RolloutChange,
  RunPhase,
  RunProgress,
} from './messages.ts'

/** A group that is being played. */
export interface GroupInFlight {
  readonly number: number
  readonly taskIndex: number
  readonly version: number
  readonly pool: readonly number[]
  readonly position: number
}

/** A finished group that waits for its update. */
export interface GroupReady {
  readonly number: number
  readonly version: number
}

/** An evaluation that is being done. */
export interface Evaluating {
  readonly suite: string
  readonly version: number
  /** Executions of it that ended without a result. */
  readonly lost?: number
}

/** All that a run knows; the input of its workflow. */
export interface TrainingState {
  readonly run: RunId
  readonly config: RunConfig
  phase: RunPhase
  /** Chunks of the warm start that are done; null before it is prepared. */
  warmStart: { done: number; total: number } | null
  version: number
  step: number
  nextGroup: number
  /** Groups admitted per task: the cursor of each task. */
  admitted: number[]
  weights: number[]
  learning: LearningChange
  rollout: RolloutChange
  pool: number[]
  inFlight: GroupInFlight[]
  ready: GroupReady[]
  training: GroupReady[]
  episodes: number
  tokens: number
  staleness: number
  success: Record<string, number>
  reward: Record<string, number>
  /** Absent in the state of a run that an older version began. */
  samples?: Record<string, number>
  /** Updates that had nothing to learn from: all of them, and the latest ones in a row. */
  emptyUpdates: number
  nothingLearnt: Standstill | null
  /** The best and the latest of each suite, with their figures alone. */
  evaluations: EvaluationSummary[]
  evaluating: Evaluating[]
  /** The latest that were given up. */
  failedEvaluations: FailedEvaluation[]
  paused: boolean
  /** Why it is paused, in words; null where nobody said so. */
  pauseReason: string | null
  stopRequested: boolean
  /** The update in hand is not waited for. */
  stopNow: boolean
  /** The version whose weights the run goes on from after the update in hand. */
  rollBackTo: number | null
  /** The first version of the line that is trained now: those before it that are newer were left behind. */
  lineStart: number
  /** The latest versions that somebody asked to keep; the audit trail has all. */
  pinned: number[]
  /** Groups given up because they would have grown too old. */
  givenUp: number
  /** Groups in a row that ended without a result. */
  fruitless: number
  /** Orders taken so far, and those that wait for the update in hand, the latest of each kind. */
  orders: number
  unsettled: AuditEntry[]
  /** True when an earlier execution ended with groups in flight: they are looked for first. */
  reattach: boolean
  readonly startedAt: number
  /** Why it failed. */
  message?: string
}

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
    pool: [],
    inFlight: [],
    ready: [],
    training: [],
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
    startedAt,
  }
}

/** A carried or stored state with all that this release knows of, and no more than it carries. */
export function currentState(stored: TrainingState): TrainingState {
  const state = { ...initialState(stored.run, stored.config, stored.startedAt), ...stored }
  const { evaluating, failedEvaluations, pinned, unsettled, pauseReason, message } = state
  const numbers = ({ number, version }: GroupReady) => ({ number, version })
  return {
    ...state,
    ready: state.ready.map(numbers),
    training: state.training.map(numbers),
    evaluations: keptEvaluations(state),
    evaluating: evaluating.slice(-mostEvaluations(state.config.evaluation.suites.length)),
    failedEvaluations: failedEvaluations.slice(-carriedFailures),
    pinned: pinned.slice(-carriedPins),
    unsettled: [...new Map(unsettled.map((entry) => [entry.what, boundedOrder(entry)])).values()],
    pauseReason: pauseReason === null ? null : clipped(pauseReason, textBytes),
    ...(message === undefined ? {} : { message: clipped(message, textBytes) }),
  }
}

/** An order whose words are no longer than what is carried. */
export function boundedOrder<Entry extends Pick<AuditEntry, 'by' | 'reason'>>(entry: Entry): Entry {
  const { by, reason } = entry
  return {
    ...entry,
    by: clipped(by, nameBytes),
    reason: reason === null ? null : clipped(reason, shortTextBytes),
  }
}

/** Groups that may be admitted now. */
export function roomForGroups(state: TrainingState): number {
  const outstanding = state.inFlight.length + state.ready.length + state.training.length
  const updatesLeft = state.config.training.updates - state.step
  return admissible(rolloutSettings(state), { outstanding, inFlight: state.inFlight.length, updatesLeft })
}

function nextBatchOf(state: TrainingState): readonly number[] | undefined {
  return nextBatch(rolloutSettings(state), {
    version: state.version,
    ready: state.ready.map((group) => group.version),
    inFlight: state.inFlight.map((group) => group.version),
  })
}

/** True when an update can start: enough groups wait, and none in flight would grow too old. */
export function batchIsReady(state: TrainingState): boolean {
  return nextBatchOf(state) !== undefined
}

/** Moves the groups of the next update into training, in the order of their numbers. */
export function takeBatch(state: TrainingState): readonly GroupReady[] {
  const taken = new Set(nextBatchOf(state))
  state.training = state.ready.filter((_, index) => taken.has(index)).sort((a, b) => a.number - b.number)
  state.ready = state.ready.filter((_, index) => !taken.has(index))
  return state.training
}

/** After an update: the groups that it consumed are gone, one that it left out waits for the next. */
export function settleBatch(state: TrainingState, consumed: readonly GroupId[]): void {
  const isLeft = ({ number }: GroupReady) => !consumed.includes(groupId(state.run, number))
  state.ready = [...state.training, ...state.ready].filter(isLeft)
  state.training = []
}

/** Takes in what an update had to teach; one of an older version says nothing of it. */
export function receiveSignal(state: TrainingState, signal: LearningSignal | undefined): void {
  if (signal === undefined) return
  state.nothingLearnt = standstillAfter(state.nothingLearnt, signal)
  if (state.nothingLearnt !== null) state.emptyUpdates += 1
}

/** True when an update can start and nobody wants something else first. */
export function mayUpdate(state: TrainingState): boolean {
  const { paused, stopRequested, rollBackTo } = state
  return batchIsReady(state) && !paused && !stopRequested && rollBackTo === null && !evaluationsLag(state)
}

/** True while so many evaluations are in flight that no more can be started for another version. */
export function evaluationsLag({ evaluating, config }: TrainingState): boolean {
  return evaluating.length > evaluationsInFlight(config.evaluation.suites.length)
}

/** Keeps the checkpoint of a version. */
export function pin(state: TrainingState, version: number): void {
  state.pinned = [...state.pinned.filter((other) => other !== version), version].slice(-carriedPins)
}

/**
 * Gives up the groups that no update can take within the staleness bound any more, after the bound was lowered
 * or the version has jumped.
 * @returns those in flight, to be cancelled
 */
export function giveUpOverdue(state: TrainingState): readonly GroupInFlight[] {
  const { ready, inFlight } = state
  const lost = overdue(rolloutSettings(state), {
    version: state.version + (state.training.length > 0 ? 1 : 0), // the update in hand publishes the next one
    ready: ready.map((group) => group.version),
    inFlight: inFlight.map((group) => group.version),
  })
  state.ready = ready.filter((_, index) => !lost.ready.includes(index))
  state.inFlight = inFlight.filter((_, index) => !lost.inFlight.includes(index))
  state.givenUp += lost.ready.length + lost.inFlight.length
  return inFlight.filter((_, index) => lost.inFlight.includes(index))
}

/** Takes in a report; a group that is not in flight has reported before. */
export function receiveGroup(state: TrainingState, report: GroupReport): void {
  const before = state.inFlight.length
  state.inFlight = state.inFlight.filter((group) => group.number !== report.number)
  if (state.inFlight.length === before) return
  state.fruitless = report.episodes.length === 0 ? state.fruitless + 1 : 0
  if (report.episodes.length === 0) return
  state.ready.push({ number: report.number, version: report.version })
  state.episodes += report.episodes.length
  state.tokens += report.episodes.reduce((sum, episode) => sum + episode.tokens, 0)
}

/** Fewer groups without a result are no sign of anything. */
const leastFruitless = 8
const firstHoldOffSeconds = 10
const longestHoldOffSeconds = 600

/**
 * How long no group is started, after as many in a row have ended without a result as may be on their way at once.
 * @returns 0 while groups may start; doubled with each further round of such groups
 */
export function holdOffSeconds(state: TrainingState): number {
  const { maxStaleness, groupsPerUpdate } = rolloutSettings(state)
  const round = Math.max(leastFruitless, (maxStaleness + 1) * groupsPerUpdate)
  const rounds = Math.floor(state.fruitless / round)
  return rounds === 0 ? 0 : Math.min(longestHoldOffSeconds, firstHoldOffSeconds * 2 ** (rounds - 1))
}

/** What holds a run off, in words. */
export function fruitlessWords({ run, fruitless }: TrainingState): string {
  return `the last ${fruitless} groups ended without a result, so new ones start less often; their episodes say why, and once it is mended \`perdure continue ${run}\` starts them at once`
}

/** Takes in a finished evaluation, once. @returns whether it was not known before */
export function receiveEvaluation(state: TrainingState, summary: EvaluationSummary): boolean {
  const isSame = (other: { suite: string; version: number }) =>
    other.suite === summary.suite && other.version === summary.version
  state.evaluating = state.evaluating.filter((running) => !isSame(running))
  if (state.evaluations.some(isSame)) return false
  state.failedEvaluations = state.failedEvaluations.filter((failed) => !isSame(failed))
  state.evaluations = keptEvaluations({ ...state, evaluations: [...state.evaluations, summary] })
  return true
}

/** The best and the latest of each configured suite, and the last heard of others. */
function keptEvaluations({ evaluations, config }: TrainingState): EvaluationSummary[] {
  const suites = new Set(config.evaluation.suites.map(({ name }) => name))
  const kept = new Set<EvaluationSummary>(
    evaluations.filter(({ suite }) => !suites.has(suite)).slice(-otherEvaluations),
  )
  for (const own of Map.groupBy(evaluations, ({ suite }) => suite).values()) {
    if (!suites.has(own[0]?.suite ?? '')) continue
    const best = bestOf(own)
    if (best !== undefined) kept.add(best)
    for (const latest of own.toSorted((a, b) => a.version - b.version).slice(-latestEvaluations))
      kept.add(latest)
  }
  return evaluations
    .filter((each) => kept.has(each))
    .map(({ suite, version, success, n }) => ({ suite, version, success, n }))
}

/** The evaluation of the highest success; of equals the newest version. */
export function bestOf(evaluations: readonly EvaluationSummary[]): EvaluationSummary | undefined {
  return evaluations.toSorted((a, b) => a.success - b.success || a.version - b.version).at(-1)
}

/** An evaluation that cannot be done is waited for no longer. */
export function giveUpEvaluation(state: TrainingState, failed: FailedEvaluation): void {
  const { suite, version } = failed
  const reason = clipped(failed.reason, shortTextBytes)
  state.evaluating = state.evaluating.filter((each) => each.suite !== suite || each.version !== version)
  state.failedEvaluations = [...state.failedEvaluations, { suite, version, reason }].slice(-carriedFailures)
}

/** Versions that something may still ask for; their checkpoints are kept. */
export function versionsInUse(state: TrainingState): readonly number[] {
  const used = new Set([0, state.version, ...state.pool])
  for (const group of state.inFlight) for (const version of [group.version, ...group.pool]) used.add(version)
  for (const running of state.evaluating) used.add(running.version)
  if (state.rollBackTo !== null) used.add(state.rollBackTo)
  return [...used].sort((a, b) => a - b)
}

/** Versions whose checkpoints are kept though nothing samples from them: pinned ones, the best of each suite. */
export function keptVersions({ pinned, evaluations }: TrainingState): readonly number[] {
  const bySuite = Map.groupBy(evaluations, ({ suite }) => suite)
  const best = [...bySuite.values()].flatMap((own) => bestOf(own)?.version ?? [])
  return [...new Set([...pinned, ...best])]
}

/** What the run says of itself. */
export function progressOf(state: TrainingState): RunProgress {
  return {
    run: state.run,
    phase: state.phase,
    version: state.version,
    step: state.step,
    updates: state.config.training.updates,
    ...(state.warmStart === null ? {} : { warmStart: state.warmStart }),
    episodesInFlight: state.inFlight.length * state.config.rollout.groupSize,
    groupsInFlight: state.inFlight.length,
    groupsReady: state.ready.length,
    staleness: state.staleness,
    episodes: state.episodes,
    tokens: state.tokens,
    success: state.success,
    reward: state.reward,
    samples: state.samples ?? {},
    evaluations: state.evaluations,
    ...(state.failedEvaluations.length === 0 ? {} : { failedEvaluations: state.failedEvaluations }),
    startedAt: state.startedAt,
    emptyUpdates: state.emptyUpdates,
    ...(state.nothingLearnt ? { nothingLearnt: state.nothingLearnt } : {}),
    ...(state.message === undefined ? {} : { message: state.message }),
    // A stored state of an earlier release has not counted them.
    ...(state.fruitless > 0 && holdOffSeconds(state) > 0 ? { warning: fruitlessWords(state) } : {}),
    // A stored state of an earlier release has no reason.
    ...(state.paused && typeof state.pauseReason === 'string' ? { pauseReason: state.pauseReason } : {}),
  }
}
