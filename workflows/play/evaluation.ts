/**
 * Evaluation: one checkpoint over one suite, its result stored under (run, suite, version, seed).
 *
 * Invariants
 * - It is pinned to the version that it was started with.
 * - [EVALUATION-1] It never blocks the run that started it: it reports by signal to the run's workflow id.
 * - [EVALUATION-2] Its result is in its search attributes.
 * - [EVALUATION-3] An evaluation in which no episode ended with a reward has no figure: it fails with that reason.
 * - [EVALUATION-4] An evaluation that is started again plays the episodes that were lost and no others.
 * - [EVALUATION-5] Episodes that the store has lost are played again before there is a result.
 * - Its history stays bounded: it continues as new between episodes when the server suggests it, and after so many episodes.
 */
import {
  ApplicationFailure,
  getExternalWorkflowHandle,
  isCancellation,
  log,
  makeContinueAsNewFunc,
  setCurrentDetails,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow'
import type { SamplesToPlay } from '../../activities/evaluation.ts'
import {
  type EvaluationPlan,
  type EvaluationSummary,
  evaluationEnded,
  searchAttributes,
} from '../../contract/messages.ts'
import { isComplete } from '../../learning/evaluation/evaluation-completeness.ts'
import { withoutFigure } from '../calls/child-watch.ts'
import { evaluationActivities } from '../calls/dispatch.ts'
import { differsFromStore } from '../calls/failure-reason.ts'
import { describeEvaluation } from '../page/details.ts'
import { here, idHere } from '../page/place.ts'
import { evaluationSummaryLine } from './evaluation-plan.ts'
import { playSamples } from './samples.ts'

/** State that is carried over when the evaluation continues as new. */
interface EvaluationState {
  readonly next: number
  readonly ended: number
  readonly successes: number
  readonly rewardSum: number
  /** Episodes without a reward in this play of the evaluation. */
  readonly lost: number
}

const begun: EvaluationState = { next: 0, ended: 0, successes: 0, rewardSum: 0, lost: 0 }

/** Evaluates one checkpoint over one suite. */
export async function evaluation(
  plan: EvaluationPlan,
  state: EvaluationState = begun,
): Promise<EvaluationSummary> {
  const after = await playEpisodes(plan, state)
  if (after.next < episodesOf(plan)) return continueInNewExecution(plan, after)
  if (after.ended === 0) return endWithoutFigure(plan)
  const counted: EvaluationSummary = {
    suite: plan.suite,
    version: plan.version,
    success: after.successes / after.ended,
    n: after.ended,
    planned: episodesOf(plan),
  }
  let summary: EvaluationSummary
  try {
    summary = await evaluationActivities.recordEvaluation({
      evaluation: plan.evaluation,
      run: plan.run,
      summary: counted,
      samples: plan.samples,
    })
  } catch (error) {
    if (!differsFromStore(error)) throw error
    return continueInNewExecution(plan, begun)
  }
  // A list of versions by success must not begin with an evaluation that lost its hard instances.
  if (isComplete(summary)) upsertSearchAttributes([{ key: searchAttributes.success, value: summary.success }])
  await reportToRun(plan, summary)
  return summary
}

/** No mean exists without an episode: the evaluation fails, and is done again or given up with the reason. */
async function endWithoutFigure(plan: EvaluationPlan): Promise<never> {
  const { evaluation, run, suite, version } = plan
  const reason = `none of the ${episodesOf(plan)} episodes of ${suite} at version ${version} ended with a reward, so there is no figure; the episodes say why`
  await evaluationActivities.failEvaluation({ evaluation, run, suite, version, reason })
  throw ApplicationFailure.nonRetryable(reason, withoutFigure)
}

/** Continues in a new execution, on the newest build of the workflows. */
function continueInNewExecution(plan: EvaluationPlan, state: EvaluationState): Promise<never> {
  const continueAsNew = makeContinueAsNewFunc<typeof evaluation>({
    initialVersioningBehavior: 'AUTO_UPGRADE',
  })
  return continueAsNew(plan, state)
}

/** Number of episodes in all: the samples of an instance follow one another. */
function episodesOf({ episodes, samples }: EvaluationPlan): number {
  return episodes * samples
}

/** Samples with their first attempts, and the sums over the samples before them in the suite. */
async function samplesFrom(
  plan: EvaluationPlan,
  { next: from, ...state }: EvaluationState,
): Promise<SamplesToPlay> {
  const { evaluation, run, suite, version } = plan
  const planned = episodesOf(plan)
  const wanted = { evaluation, run, suite, version, from, planned }
  const { left, next, ended, successes, rewardSum } = await evaluationActivities.samplesToPlay(wanted)
  return {
    left,
    next,
    ended: state.ended + ended,
    successes: state.successes + successes,
    rewardSum: state.rewardSum + rewardSum,
  }
}

/** Plays instances in order with bounded concurrency, until all are played or the history grows long. */
async function playEpisodes(plan: EvaluationPlan, from: EvaluationState): Promise<EvaluationState> {
  const { left, next, ...before } = await samplesFrom(plan, from)
  let { ended, successes, rewardSum } = before
  let { lost } = from
  const { samples, evaluation: parent, maxAttempts, version, concurrency: atOnce } = plan
  const place = here()
  const tell = () => {
    // Only the summary of its first execution says which evaluation it is.
    const course = describeEvaluation(plan, { ended, successes, rewardSum, lost }, place)
    setCurrentDetails(`${evaluationSummaryLine(plan)}\n\n${course}`)
  }
  tell()
  const planned = left.map(({ sample, attempt: firstAttempt }) => {
    const position = Math.floor(sample / samples)
    return { parent, sample, firstAttempt, maxAttempts, version, plan: { ...plan.episode, position } }
  })
  const started = await playSamples(planned, {
    atOnce,
    mayStart: () => !workflowInfo().continueAsNewSuggested,
    ended: (_, result) => {
      if (result !== null && result.reward !== null) {
        ended += 1
        successes += result.success ? 1 : 0
        rewardSum += result.reward
      } else lost += 1
      tell()
    },
  })
  return { next: left[started]?.sample ?? next, ended, successes, rewardSum, lost }
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
