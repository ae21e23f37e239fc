/**
 * The state with which a run goes on in a new execution, made of what it left in the store.
 *
 * Invariants
 * - A batch that was in hand is taken again, and what was in flight is looked for first.
 * - An order that was taken after the state was stored holds in the new execution too, under its number.
 * - Evaluations that were started after it was stored are heard of in the new execution.
 */
import type { RunConfig } from '../config/schema.ts'
import type { AuditEntry } from '../storage/audit.ts'
import { applySettings } from '../workflows/live-settings.ts'
import { boundedOrder, currentState, pin, type TrainingState } from '../workflows/training-state.ts'
import type { RunChange } from './run-change.ts'

/**
 * Of an execution that ended: whoever resumes it wants it to go on.
 * @param trail all orders that the run has taken; of a terminated one some are younger than its state
 */
export function stateToGoOnFrom(
  state: TrainingState,
  config: RunConfig,
  trail: readonly AuditEntry[],
): TrainingState {
  return {
    ...withOrders(interrupted(state, config), trail),
    stopRequested: false,
    stopNow: false,
    paused: false,
    pauseReason: null,
    fruitless: 0,
  }
}

/**
 * Of an execution that is given up in the middle: paused or stopping as it was.
 * @param trail all orders that the run has taken
 */
export function stateToBeginAgainFrom(
  state: TrainingState,
  config: RunConfig,
  trail: readonly AuditEntry[],
): TrainingState {
  return withOrders(interrupted(state, config), trail)
}

/**
 * The state with another configuration, and what of it is written into the audit trail.
 * @param of from what, to what, when and by whom
 */
export function changedState(
  state: TrainingState,
  { config, changes }: Pick<RunChange, 'config' | 'changes'>,
  of: { readonly by: string; readonly time: number },
): { readonly state: TrainingState; readonly entries: readonly AuditEntry[] } {
  const next = structuredClone({ ...state, config })
  // A run that was done or failed is neither any more.
  next.phase = 'starting'
  for (const [task, { weight }] of config.tasks.entries()) {
    if (changes.some(({ key }) => key === `tasks.${task}.weight`)) next.weights[task] = weight
  }
  next.learning = withoutChanged(next.learning, 'learning', changes)
  next.rollout = withoutChanged(next.rollout, 'rollout', changes)
  const entries = changes.map(({ key, from, to }, index) => ({
    number: next.orders + index,
    time: of.time,
    by: of.by,
    what: key,
    from,
    to,
    version: next.version,
    effectVersion: next.version,
    reason: null,
  }))
  next.orders += entries.length
  return { state: next, entries }
}

/** What was ordered of the live run gives way to a change of its configuration. */
function withoutChanged<T extends object>(ordered: T, section: string, changes: RunChange['changes']): T {
  const isKept = ([name]: [string, unknown]) => !changes.some(({ key }) => key === `${section}.${name}`)
  return Object.fromEntries(Object.entries(ordered).filter(isKept)) as T
}

/** The state with the orders that were taken after it was stored. */
function withOrders(state: TrainingState, trail: readonly AuditEntry[]): TrainingState {
  const next = structuredClone(state)
  for (const entry of trail) if (entry.number >= state.orders) takeAgain(next, entry)
  return next
}

/** Of the published version: the run starts them when its state is stored, so that the state may not know them. */
function dueEvaluations(state: TrainingState): TrainingState['evaluating'] {
  const { config, warmStart, step, version } = state
  const { every, suites } = config.evaluation
  const isPublished = warmStart !== null && warmStart.done === warmStart.total
  const isDue = step === 0 || (every > 0 && step % every === 0)
  const known = [...state.evaluations, ...state.evaluating, ...state.failedEvaluations]
  return isPublished && isDue
    ? suites
        .map(({ name: suite }) => ({ suite, version }))
        .filter((due) => !known.some((each) => each.suite === due.suite && each.version === version))
    : []
}

function interrupted(stored: TrainingState, config: RunConfig): TrainingState {
  const { message: _, ...state } = { ...currentState(stored), config }
  return {
    ...state,
    ready: [...state.training, ...state.ready],
    training: [],
    evaluating: [...state.evaluating, ...dueEvaluations(state)],
    reattach: true,
  }
}

function takeAgain(state: TrainingState, entry: AuditEntry): void {
  const { number, what, to, version, effectVersion, reason } = entry
  // A promotion changes a file and not the run.
  if (what === 'promote') return
  state.orders = Math.max(state.orders, number + 1)
  if (effectVersion === null)
    state.unsettled = [...state.unsettled.filter((other) => other.what !== what), boundedOrder(entry)]
  if (what === 'pause' || what === 'continue') {
    state.paused = what === 'pause'
    state.pauseReason = state.paused ? reason : null
  } else if (what === 'stop') {
    state.stopRequested = true
    state.stopNow ||= to === 'now'
  } else if (what === 'rollback' && typeof to === 'number') state.rollBackTo = to
  else if (what === 'checkpoint' && typeof to === 'number') pin(state, to)
  else if (what === 'evaluate' && typeof to === 'string') state.evaluating.push({ suite: to, version })
  else if (to === null || typeof to === 'number') applySettings(state, { [what]: to })
}
