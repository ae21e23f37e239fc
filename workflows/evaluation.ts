/**
 * Evaluation: one checkpoint over one suite, its result stored under (run, suite, version, seed).
 *
 * Invariants
 * - It is pinned to the version that it was started with.
 * - It never blocks the run that started it: it reports by signal to the run's workflow id.
 * - Its result stands in its search attributes.
 * - Its history stays bounded: it continues as new between episodes when the server suggests it.
 */
import {
  condition,
  getExternalWorkflowHandle,
  isCancellation,
  log,
  makeContinueAsNewFunc,
  patched,
  setCurrentDetails,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow'
import { playSample } from './attempts.ts'
import { describeEvaluation } from './details.ts'
import { evaluationActivities } from './dispatch.ts'
import { evaluationSummaryLine } from './evaluation-plan.ts'
import { type EvaluationPlan, type EvaluationSummary, evaluationEnded, searchAttributes } from './messages.ts'
import { here, idHere } from './place.ts'

/** What is carried over when the evaluation continues as new. */
interface EvaluationState {
  readonly next: number
  readonly ended: number
  readonly successes: number
  readonly rewardSum: number
}

/** Evaluates one checkpoint over one suite. */
export async function evaluation(
  plan: EvaluationPlan,
  state: EvaluationState = { next: 0, ended: 0, successes: 0, rewardSum: 0 },
): Promise<EvaluationSummary> {
  const after = await playEpisodes(plan, state)
  if (after.next < episodesOf(plan)) return goOn(plan, after)
  const counted: EvaluationSummary = {
    suite: plan.suite,
    version: plan.version,
    success: after.ended === 0 ? 0 : after.successes / after.ended,
    n: after.ended,
  }
  const recorded: EvaluationSummary | undefined = await evaluationActivities.recordEvaluation({
    evaluation: plan.evaluation,
    run: plan.run,
    summary: counted,
    samples: plan.samples ?? 1,
    meanReward: after.ended === 0 ? 0 : after.rewardSum / after.ended,
  })
  // Workers of the first release answer nothing.
  const summary = recorded ?? counted
  if (patched('evaluation-results-as-search-attributes'))
    upsertSearchAttributes([{ key: searchAttributes.success, value: summary.success }])
  await reportToRun(plan, summary)
  return summary
}

/** In a new execution, on the newest build of the workflows. */
function goOn(plan: EvaluationPlan, state: EvaluationState): Promise<never> {
  const continueAsNew = makeContinueAsNewFunc<typeof evaluation>({
    initialVersioningBehavior: 'AUTO_UPGRADE',
  })
  return continueAsNew(plan, state)
}

/** Episodes in all: the samples of an instance follow one another. */
function episodesOf({ episodes, samples = 1 }: EvaluationPlan): number {
  return episodes * samples
}

/** Plays instances in order with bounded concurrency, until all are played or the history grows long. */
async function playEpisodes(plan: EvaluationPlan, from: EvaluationState): Promise<EvaluationState> {
  let { next, ended, successes, rewardSum } = from
  let running = 0
  let fault: unknown
  const { samples = 1 } = plan
  const all = episodesOf(plan)
  const place = here()
  const tell = () => {
    // Which evaluation it is stands in the summary of its first execution only.
    const course = describeEvaluation(plan, { ended, successes, rewardSum }, place)
    setCurrentDetails(`${evaluationSummaryLine(plan)}\n\n${course}`)
  }
  tell()
  while (next < all && !workflowInfo().continueAsNewSuggested) {
    const sample = next
    next += 1
    running += 1
    const of = {
      parent: plan.evaluation,
      sample,
      maxAttempts: plan.maxAttempts,
      version: plan.version,
    }
    playSample(of, { ...plan.episode, position: Math.floor(sample / samples) })
      .then((result) => {
        if (result !== null) {
          ended += 1
          successes += result.success ? 1 : 0
          rewardSum += result.reward ?? 0
        }
        tell()
      })
      .catch((error: unknown) => {
        fault = error
      })
      .finally(() => {
        running -= 1
      })
    await condition(() => running < plan.concurrency || fault !== undefined)
    if (fault !== undefined) throw fault
  }
  await condition(() => running === 0 || fault !== undefined)
  if (fault !== undefined) throw fault
  return { next, ended, successes, rewardSum }
}

/** Nobody waits for the evaluation of a run that has ended; its result is in the store. */
async function reportToRun(plan: EvaluationPlan, summary: EvaluationSummary): Promise<void> {
  try {
    await getExternalWorkflowHandle(idHere(plan.run)).signal(evaluationEnded, summary)
  } catch (error) {
    if (isCancellation(error)) throw error
    log.info('run not reached', { evaluation: plan.evaluation })
  }
}
