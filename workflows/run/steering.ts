/**
 * Steering: how a training run answers signals, queries and updates.
 *
 * Invariants
 * - Handlers are set before the run first waits.
 * - Validators are synchronous and change nothing; a refused update leaves the run as it was.
 * - An order holds before anything else happens, and is answered when it is in the audit trail.
 */
import type { UpdateDefinition } from '@temporalio/common'
import {
  ApplicationFailure,
  getExternalWorkflowHandle,
  isCancellation,
  log,
  setHandler,
} from '@temporalio/workflow'
import {
  changeSettings,
  checkpointNow,
  evaluateNow,
  evaluationEnded,
  groupEnded,
  lookAround,
  type Order,
  pause,
  progress,
  resume,
  rollBack,
  type SettingsChange,
  stop,
} from '../../contract/messages.ts'
import type { GroupInFlight, TrainingState } from '../../contract/training-state.ts'
import { groupId } from '../../identity/identity.ts'
import { clipped, mostEvaluations, textBytes } from '../../learning/run/state-bounds.ts'
import { idHere } from '../page/place.ts'
import { applySettings, objectionTo } from '../state/live-settings.ts'
import { progressOf } from '../state/training-progress.ts'
import { giveUpOverdue, receiveGroup } from '../state/transitions/groups.ts'
import { continueRun, pauseRun, stopRun } from '../state/transitions/phase.ts'
import { askForRollBack, pin } from '../state/transitions/versions.ts'
import { recordOrders } from './audit-trail.ts'
import { judgeEvaluation } from './gates.ts'
import { refuseWhenGivenUp, unlessGivenUp } from './stored-restart.ts'
import { checkChildren } from './training-children.ts'
import { startEvaluation } from './training-evaluations.ts'

/** Sets the handlers for messages from groups, evaluations and users. */
export function listen(state: TrainingState): void {
  setHandler(groupEnded, (report) => receiveGroup(state, report))
  setHandler(evaluationEnded, (summary) => unlessGivenUp(state, () => judgeEvaluation(state, summary)))
  setHandler(lookAround, () => unlessGivenUp(state, () => checkChildren(state)))
  setHandler(progress, () => progressOf(state))
  handleOrder(state, pause, {
    does: (order) => turn(state, true, order),
    refuses: (_order) => refuseWhenEnding(state, 'paused'),
  })
  handleOrder(state, resume, {
    does: (order) => turn(state, false, order),
    refuses: (_order) => refuseWhenEnding(state, 'continued'),
  })
  handleOrder(state, stop, { does: (order) => endRun(state, order) })
  handleOrder(state, changeSettings, {
    does: (settings, order) => change(state, settings, order),
    refuses: (settings) => refuseChange(state, settings),
  })
  handleOrder(state, evaluateNow, {
    does: (order) => evaluate(state, order),
    refuses(order) {
      refuseSuite(state, order?.suite)
      refuseWithoutVersion(state)
      refuseMoreEvaluations(state)
    },
  })
  handleOrder(state, checkpointNow, {
    does: (order) => keep(state, order),
    refuses: (_order) => refuseWithoutVersion(state),
  })
  handleOrder(state, rollBack, {
    does: (order) => goBack(state, order),
    refuses: (order) => refuseVersion(state, order?.version),
  })
}

/** Check and effect of one kind of order. */
interface OrderHandler<Result, Given extends unknown[]> {
  readonly does: (...given: Given) => Promise<Result>
  /** Throws where the order is not valid. */
  readonly refuses?: (...given: Given) => void
}

function handleOrder<Result, Given extends unknown[]>(
  state: TrainingState,
  order: UpdateDefinition<Result, Given>,
  { does, refuses }: OrderHandler<Result, Given>,
): void {
  const validator = (...given: Given): void => {
    refuseWhenGivenUp(state)
    refuses?.(...given)
  }
  setHandler(order, does, { validator })
}

async function turn(
  state: TrainingState,
  paused: boolean,
  order: Order | undefined,
): Promise<TrainingState['phase']> {
  const from = state.phase
  const { by } = order ?? {}
  const reason = order?.reason === undefined ? undefined : clipped(order.reason, textBytes)
  if (paused) pauseRun(state, reason ?? null)
  else continueRun(state)
  const what = paused ? 'pause' : 'continue'
  await recordOrders(state, [
    { by, what, from, to: state.phase, holds: 'now', ...(reason === undefined ? {} : { reason }) },
  ])
  return state.phase
}

async function endRun(
  state: TrainingState,
  order: (Order & { readonly now?: boolean }) | undefined,
): Promise<TrainingState['phase']> {
  const from = state.phase
  stopRun(state, order?.now === true)
  const to = state.stopNow ? 'now' : 'after the update'
  await recordOrders(state, [{ by: order?.by, what: 'stop', from, to, holds: 'now' }])
  return state.phase
}

async function change(
  state: TrainingState,
  settings: SettingsChange,
  order: Order | undefined,
): Promise<void> {
  const changed = applySettings(state, settings)
  await Promise.all([
    recordOrders(
      state,
      changed.map(({ key, from, to, holds }) => ({ by: order?.by, what: key, from, to, holds })),
    ),
    leaveOverdue(state),
  ])
}

async function evaluate(state: TrainingState, { suite, by }: Order & { readonly suite: string }) {
  const [evaluation] = await Promise.all([
    startEvaluation(state, suite, { isOrdered: true }),
    recordOrders(state, [{ by, what: 'evaluate', from: null, to: suite, holds: 'now' }]),
  ])
  return evaluation
}

async function keep(state: TrainingState, order: Order | undefined): Promise<number> {
  const { version } = state
  pin(state, version)
  await recordOrders(state, [{ by: order?.by, what: 'checkpoint', from: null, to: version, holds: 'now' }])
  return version
}

async function goBack(
  state: TrainingState,
  { version: to, by }: Order & { readonly version: number },
): Promise<void> {
  askForRollBack(state, to)
  await recordOrders(state, [{ by, what: 'rollback', from: state.version, to, holds: 'later' }])
}

/** Gives up groups that have grown too old, and cancels those that are still played. */
export async function leaveOverdue(state: TrainingState): Promise<void> {
  await cancelGroups(state, giveUpOverdue(state))
}

/** Cancels groups that were given up. */
export async function cancelGroups(state: TrainingState, groups: readonly GroupInFlight[]): Promise<void> {
  await Promise.all(
    groups.map(async ({ number }) => {
      try {
        await getExternalWorkflowHandle(idHere(groupId(state.run, number))).cancel()
      } catch (error) {
        if (isCancellation(error)) throw error
        log.info('group ended before it was given up', { number })
      }
    }),
  )
}

function refuse(message: string): never {
  throw ApplicationFailure.nonRetryable(message, 'SteeringRefused')
}

function refuseWhenEnding(state: TrainingState, what: string): void {
  if (state.stopRequested || state.phase === 'done' || state.phase === 'failed')
    refuse(`run ${state.run} is ending and cannot be ${what}`)
}

function refuseWithoutVersion(state: TrainingState): void {
  if (state.phase === 'starting' || state.phase === 'warm_start')
    refuse(`run ${state.run} has not published a version yet; it is in its warm start`)
}

function refuseChange(state: TrainingState, settings: SettingsChange): void {
  const objection = objectionTo(state, settings)
  if (objection !== undefined) refuse(objection)
}

function refuseSuite(state: TrainingState, suite: string | undefined): void {
  const names = state.config.evaluation.suites.map((candidate) => candidate.name)
  if (suite === undefined || !names.includes(suite))
    refuse(`unknown suite "${suite}"; configured: ${names.join(', ') || 'none'}`)
}

function refuseMoreEvaluations({ run, evaluating, config }: TrainingState): void {
  if (evaluating.length >= mostEvaluations(config.evaluation.suites.length))
    refuse(
      `run ${run} has ${evaluating.length} evaluations in flight; ask again when some of them have ended`,
    )
}

function refuseVersion(state: TrainingState, version: number | undefined): void {
  refuseWhenEnding(state, 'rolled back')
  refuseWithoutVersion(state)
  if (version === undefined || !Number.isInteger(version) || version < 0 || version > state.version)
    refuse(`run ${state.run} has versions 0 to ${state.version}, and none ${String(version)} to go back to`)
}
