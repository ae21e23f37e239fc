/**
 * Scheduled evaluation: the workflow that a schedule starts, whether the run is in progress or has ended.
 *
 * Invariants
 * - It evaluates the newest version at the moment when it starts.
 * - A version that was evaluated before is not evaluated again, unless that evaluation lost too many episodes.
 * - It lasts as long as its evaluation, so that a schedule that must not overlap sees it.
 */
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common'
import { executeChild, ParentClosePolicy, setCurrentDetails } from '@temporalio/workflow'
import type { RunConfig } from '../../config/schema/schema.ts'
import type { EvaluationSummary } from '../../contract/messages.ts'
import type { RunId } from '../../identity/identity.ts'
import { evaluationActivities } from '../calls/dispatch.ts'
import { here } from '../page/place.ts'
import { evaluation } from './evaluation.ts'
import { evaluationPlan, evaluationStart, evaluationSummaryLine } from './evaluation-plan.ts'

/** The request that a schedule keeps. */
export interface ScheduledEvaluation {
  readonly run: RunId
  readonly config: RunConfig
  readonly suite: RunConfig['evaluation']['suites'][number]
  readonly episodes?: number
  readonly samples?: number
}

/** Evaluates the newest version over a suite. @returns null where none is published, or it was evaluated before */
export async function scheduledEvaluation(asked: ScheduledEvaluation): Promise<EvaluationSummary | null> {
  const { run, config, suite, episodes, samples } = asked
  const { version } = await evaluationActivities.newestVersion({ run })
  if (version === null) {
    setCurrentDetails(`run ${run} has not published a version yet`)
    return null
  }
  const plan = evaluationPlan(run, config, { suite, version, episodes, samples })
  const { isNew } = await evaluationActivities.beginEvaluation({
    evaluation: plan.evaluation,
    run,
    suite: plan.suite,
    version,
  })
  if (!isNew) {
    setCurrentDetails(`version ${version} was evaluated over ${plan.suite} before`)
    return null
  }
  setCurrentDetails(evaluationSummaryLine(plan))
  try {
    return await executeChild(evaluation, {
      ...evaluationStart(plan, here()),
      parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL, // it ends its episodes in their own order
    })
  } catch (error) {
    // The run or a person started the same evaluation a moment ago.
    if (error instanceof WorkflowExecutionAlreadyStartedError) return null
    throw error
  }
}
