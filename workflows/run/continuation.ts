/**
 * Continuation: a run whose history is long continues in a new execution, with its whole state.
 *
 * Invariants
 * - Every wait that may last for long ends when the history is long, and every path from it comes by here, so that
 *   no run meets the server's limit, however long it waits and whatever messages it receives.
 */
import { allHandlersFinished, condition, makeContinueAsNewFunc, workflowInfo } from '@temporalio/workflow'
import type { RunProgress } from '../../contract/messages.ts'
import type { TrainingState } from '../../contract/training-state.ts'

/** True when the history is longer than the server's or the configured limit. */
export function isLong({ config }: TrainingState): boolean {
  const { continueAsNewSuggested, historyLength } = workflowInfo()
  return continueAsNewSuggested || historyLength >= config.orchestration.historyEvents
}

/** Continues in a new execution where the history is long. */
export async function continueWhenLong(state: TrainingState): Promise<void> {
  if (!isLong(state)) return
  await condition(allHandlersFinished)
  await continueAsNew(state)
}

/** Continues in a new execution; never returns. */
export function continueAsNew(state: TrainingState): Promise<never> {
  // An execution stays with the build of the workflows that began it; the next one starts on the newest.
  const begin = makeContinueAsNewFunc<(carried: TrainingState) => Promise<RunProgress>>({
    initialVersioningBehavior: 'AUTO_UPGRADE',
  })
  return begin(state)
}
