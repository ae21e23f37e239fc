/**
 * Evaluation: one checkpoint over one suite, its result stored under (run, suite, version, seed).
 *
 * Invariants
 * - It is pinned to the version that it was started with.
 * - [EVALUATION-1] It never blocks the run that started it: it reports by signal to the run's workflow id.
 * - [EVALUATION-2] Its result is in its search attributes.
 * - [EVALUATION-3] One of which no episode ended with a reward has no figure: it ends without a result, and says so.
 * - Its history stays bounded: it continues as new between episodes when the server suggests it.
 */
import {
  ApplicationFailure,
  getExternalWorkflowHandle,
  isCancellation,
  log,
  makeContinueAsNewFunc,
  patched,
  setCurrentDetails,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow'
import { withoutFigure } from './child-watch.ts'
import { describeEvaluation } from './details.ts'
import { evaluationActivities } from './dispatch.ts'
import { evaluationSummaryLine } from './evaluation-plan.ts'
import { type EvaluationPlan, type EvaluationSummary, evaluationEnded, searchAttributes } from './messages.ts'
import { here, idHere } from './place.ts'
import { playSamples } from './samples.ts'

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
  if (after.next < episodesOf(plan)) return continueInNewExecution(plan, after)
  if (after.ended === 0 && patched('an-evaluation-without-rewards-has-no-figure'))
    return endWithoutFigure(plan)
  const counted: EvaluationSummary = {
    suite: plan.suite,
    version: plan.version,
    // Histories of earlier releases have a result of no episodes.
    success: after.ended === 0 ? 0 : after.successes / after.ended,
    n: after.ended,
  }
  const recorded: EvaluationSummary | undefined = await evaluationActivities.recordEvaluation({
    evaluation: plan.evaluation,
    run: plan.run,
    summary: counted,
    samples: plan.samples ?? 1,
  })
  // Workers of the first release answer nothing.
  const summary = recorded ?? counted
  if (patched('evaluation-results-as-search-attributes'))
    upsertSearchAttributes([{ key: searchAttributes.success, value: summary.success }])
  await reportToRun(plan, summary)
  return summary
}

/** No share of no episodes: the evaluation fails, and is done again or given up with the reason. */
async function endWithoutFigure(plan: EvaluationPlan): Promise<never> {
  const { evaluation, run, suite, version } = plan
  const reason = `none of the ${episodesOf(plan)} episodes of ${suite} at version ${version} ended with a reward, so there is no figure; the episodes say why`
  await evaluationActivities.failEvaluation({ evaluation, run, suite, version, reason })
  throw ApplicationFailure.nonRetryable(reason, withoutFigure)
}

/** In a new execution, on the newest build of the workflows. */
function continueInNewExecution(plan: EvaluationPlan, state: EvaluationState): Promise<never> {
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
  let { ended, successes, rewardSum } = from
  const { samples = 1, evaluation: parent, maxAttempts, version, concurrency: atOnce } = plan
  const place = here()
  const tell = () => {
    // Only the summary of its first execution says which evaluation it is.
    const course = describeEvaluation(plan, { ended, successes, rewardSum }, place)
    setCurrentDetails(`${evaluationSummaryLine(plan)}\n\n${course}`)
  }
  tell()
  const left = Array.from({ length: episodesOf(plan) - from.next }, (_, index) => {
    const sample = from.next + index
    const position = Math.floor(sample / samples)
    return { parent, sample, maxAttempts, version, plan: { ...plan.episode, position } }
  })
  const started = await playSamples(left, {
    atOnce,
    mayStart: () => !workflowInfo().continueAsNewSuggested,
    ended: (_, result) => {
      if (result !== null && result.reward !== null) {
        ended += 1
        successes += result.success ? 1 : 0
        rewardSum += result.reward
      }
      tell()
    },
  })
  return { next: from.next + started, ended, successes, rewardSum }
}

/** No one waits for the evaluation of a run that has ended; its result is in the store. */
async function reportToRun(plan: EvaluationPlan, summary: EvaluationSummary): Promise<void> {
  try {
    await getExternalWorkflowHandle(idHere(plan.run)).signal(evaluationEnded, summary)
  } catch (error) {
    if (isCancellation(error)) throw error
    log.info('run not reached', { evaluation: plan.evaluation })
  }
}
