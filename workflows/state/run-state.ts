/**
 * The state with which a run continues in a new execution, made from its records in the store.
 *
 * Invariants
 * - A batch that was in progress is ready again, and work in flight is looked for first.
 * - [RUN-STATE-1] An update that was made and not published counts in the new execution, whatever the orders are.
 * - An order that was given after the state was stored holds in the new execution too, under its number.
 * - A restart is in the audit trail under a number of its own, and changes no other order.
 * - Evaluations that were started after the state was stored are found by the new execution.
 */
import type { AuditEntry } from '../../activities/run.ts'
import type { ConfigChange } from '../../config/changes.ts'
import type { RunConfig } from '../../config/schema/schema.ts'
import { initialState, isWarm, type StoredCourse, type TrainingState } from '../../contract/training-state.ts'
import { isEvaluationDue } from '../../learning/evaluation/evaluation-schedule.ts'
import { applySettings } from './live-settings.ts'
import { recordEvaluating } from './transitions/evaluations.ts'
import { awaitEffect, countOrder, numberOrder } from './transitions/orders.ts'
import { continueRun, interrupt, pauseRun, resumeRun, stopRun } from './transitions/phase.ts'
import { changeConfiguration } from './transitions/settings.ts'
import { askForRollBack, pin } from './transitions/versions.ts'

/** The reason why an execution of a run is given up for a new one. */
export interface Relaunch {
  /** In words, for the audit trail. */
  readonly reason: string
  /** True when the new execution is paused until a person continues it. */
  readonly paused: boolean
}

/** The state that a run stored last, or its first one, with the update that it made since. */
export function storedState({ run, config, created, state, made }: StoredCourse): TrainingState {
  return { ...(state ?? initialState(run, config, created)), made }
}

/**
 * State in which a run that ended is resumed: a resume is a request to continue.
 * @param trail all orders that the run has taken; of a terminated one some are younger than its state
 */
export function stateToResumeFrom(
  state: TrainingState,
  config: RunConfig,
  trail: readonly AuditEntry[],
): TrainingState {
  const next = stateToRestartFrom(state, config, trail)
  resumeRun(next)
  return next
}

/**
 * State in which a run goes on whose execution is given up in the middle: paused or stopping as it was.
 * @param trail all orders that the run has taken
 */
export function stateToRestartFrom(
  state: TrainingState,
  config: RunConfig,
  trail: readonly AuditEntry[],
): TrainingState {
  const next = copyOf({ ...state, config })
  const firstUnknown = next.orders
  interrupt(next, missingEvaluations(next))
  for (const entry of trail) if (entry.number >= firstUnknown) replayOrder(next, entry)
  return next
}

/**
 * The state with another configuration, with the audit trail's entries about it.
 * @param of from what, to what, when and by whom
 */
export function changedState(
  state: TrainingState,
  { config, changes }: { readonly config: RunConfig; readonly changes: readonly ConfigChange[] },
  of: { readonly by: string; readonly time: number },
): { readonly state: TrainingState; readonly entries: readonly AuditEntry[] } {
  const next = copyOf(state)
  changeConfiguration(next, config, new Set(changes.map(({ key }) => key)))
  const entries = changes.map(({ key, from, to }) => ({
    number: numberOrder(next),
    time: of.time,
    by: of.by,
    what: key,
    from,
    to,
    version: next.version,
    effectVersion: next.version,
    reason: null,
  }))
  return { state: next, entries }
}

/**
 * The state of a run whose execution is given up for a new one, with the audit trail's entries about it.
 * @param time milliseconds since the epoch
 */
export function relaunchedState(
  state: TrainingState,
  { reason, paused }: Relaunch,
  time: number,
): { readonly state: TrainingState; readonly entries: readonly AuditEntry[] } {
  const next = copyOf(state)
  const { phase: from, version } = next
  const entryOf = (what: string, to: AuditEntry['to'], why: string): AuditEntry => ({
    number: numberOrder(next),
    time,
    by: 'takeover',
    what,
    from,
    to,
    version,
    effectVersion: version,
    reason: why,
  })
  const entries = [entryOf('restart', `version ${version}`, reason)]
  if (paused) {
    const why = `${reason}, again and again: continue it when the cause is found`
    pauseRun(next, why)
    entries.push(entryOf('pause', next.phase, why))
  }
  return { state: next, entries }
}

/** Evaluations of the published version that the state may not know: the run starts them after its state is stored. */
function missingEvaluations(state: TrainingState): TrainingState['evaluating'] {
  const { config, step, version } = state
  const { every, suites } = config.evaluation
  const known = [...state.evaluations, ...state.evaluating, ...state.failedEvaluations]
  return isWarm(state) && isEvaluationDue(step, every)
    ? suites
        .map(({ name: suite }) => ({ suite, version }))
        .filter((due) => !known.some((each) => each.suite === due.suite && each.version === version))
    : []
}

function replayOrder(state: TrainingState, entry: AuditEntry): void {
  const { number, what, to, version, effectVersion, reason } = entry
  // A promotion changes a file and not the run.
  if (what === 'promote') return
  countOrder(state, number)
  if (what === 'restart') return
  if (effectVersion === null) awaitEffect(state, entry)
  if (what === 'pause') pauseRun(state, reason)
  else if (what === 'continue') continueRun(state)
  else if (what === 'stop') stopRun(state, to === 'now')
  else if (what === 'rollback' && typeof to === 'number') askForRollBack(state, to)
  else if (what === 'checkpoint' && typeof to === 'number') pin(state, to)
  else if (what === 'evaluate' && typeof to === 'string') recordEvaluating(state, { suite: to, version })
  else if (to === null || typeof to === 'number') applySettings(state, { [what]: to })
}

/** Copies a state. It is plain JSON [STATE-1], and workflows have no `structuredClone`. */
function copyOf(state: TrainingState): TrainingState {
  return JSON.parse(JSON.stringify(state))
}
