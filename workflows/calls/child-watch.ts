/**
 * Child watch: a run notices that a child has ended, also where the child could not report it.
 *
 * Invariants
 * - Every child that a run waits for is watched: by its handle in the execution that started it, else by asking the
 *   server, which an ending reaches within seconds either way.
 * - The work that follows an ending runs beside everything else; a fault of it ends the run as any other would.
 * - Asking costs a few events per ending, not per look: histories stay short however long children play.
 */
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common'
import {
  ApplicationFailure,
  CancellationScope,
  ChildWorkflowFailure,
  type ChildWorkflowHandle,
  Trigger,
  type Workflow,
} from '@temporalio/workflow'
import type { TrainingState } from '../../contract/training-state.ts'
import { childrenActivities } from './dispatch.ts'
import { reasonOf } from './failure-reason.ts'

/** How a child ended, in words. */
export interface ChildEnding {
  /** Its workflow id. */
  readonly child: string
  readonly ending: string
  /** True when another execution would end in the same way. */
  readonly isFinal?: boolean
}

/** Takes in endings, each perhaps more than once. */
export type AcceptEndings = (endings: readonly ChildEnding[]) => Promise<void>

const faults = new WeakMap<TrainingState, Trigger<never>>()

/** Does the work of a run with its children watched. */
export async function whileWatching<T>(state: TrainingState, work: () => Promise<T>): Promise<T> {
  const fault = new Trigger<never>()
  faults.set(state, fault)
  return Promise.race([work(), fault])
}

/** Ends the work of a run with an error. */
export function endWork(state: TrainingState, error: unknown): void {
  faults.get(state)?.reject(error instanceof Error ? error : new Error(String(error)))
}

/**
 * Starts a child that goes on when the run is cancelled.
 * @returns undefined where the child of that identity runs or has ended already
 */
export async function startOnce<W extends Workflow>(
  start: () => Promise<ChildWorkflowHandle<W>>,
): Promise<ChildWorkflowHandle<W> | undefined> {
  try {
    return await CancellationScope.nonCancellable(start)
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error
    return undefined
  }
}

/** Watches a child that this execution started. */
export function watchOwn<W extends Workflow>(
  state: TrainingState,
  handle: ChildWorkflowHandle<W>,
  accept: AcceptEndings,
): void {
  const child = handle.workflowId
  beside(state, async () => {
    let ended: ChildEnding = { child, ending: 'completed' }
    try {
      await handle.result()
    } catch (error) {
      ended = { child, ending: reasonOf(error), isFinal: isWithoutFigure(error) }
    }
    await accept([ended])
  })
}

/** Watches children that another execution of the run, a person or a schedule started. */
export function watchOthers(state: TrainingState, children: readonly string[], accept: AcceptEndings): void {
  beside(state, async () => {
    for (let left = children; left.length > 0; ) {
      const { ended } = await childrenActivities.awaitEnded({ children: left })
      left = left.filter((child) => !ended.some((each) => each.child === child))
      if (ended.length > 0) await accept(ended)
    }
  })
}

/** Records the children that have ended by now. */
export async function checkEnded(children: readonly string[], accept: AcceptEndings): Promise<void> {
  if (children.length === 0) return
  const { ended } = await childrenActivities.findEnded({ children })
  if (ended.length > 0) await accept(ended)
}

/** The failure type of an evaluation in which no episode ended with a reward: playing it again would find the same episodes. */
export const withoutFigure = 'EvaluationWithoutFigure'

function isWithoutFigure(error: unknown): boolean {
  const cause = error instanceof ChildWorkflowFailure ? error.cause : undefined
  return cause instanceof ApplicationFailure && cause.type === withoutFigure
}

function beside(state: TrainingState, work: () => Promise<void>): void {
  work().catch((error: unknown) => endWork(state, error))
}
