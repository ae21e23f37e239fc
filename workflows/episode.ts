/**
 * Episode: open the environment, then sample and step until the end, then seal and close.
 *
 * Invariants
 * - [EPISODE-1] Every episode is sealed exactly once, with one outcome, also when it fails or is cancelled. One that
 *   is sealed already only tells its result.
 * - [EPISODE-2] An infrastructure failure never becomes a reward.
 * - [EPISODE-3] Versions and actions are drawn from seed and identity alone: the sample's where attempts draw alike,
 *   so that a new attempt plays what the failed one would have played, else the attempt's own.
 * - [EPISODE-4] An episode that branches off plays only the turns from there on; those before it count as its own.
 * - The history grows by a few numbers per turn; texts and tokens stay in the store.
 */
import {
  CancellationScope,
  isCancellation,
  log,
  setCurrentDetails,
  upsertSearchAttributes,
} from '@temporalio/workflow'
import type { TurnResult } from '../activities/environment.ts'
import { firstAttemptOf, seedOfWork, uniforms, yieldsToTraining } from '../identity/identity.ts'
import { drawVersion } from '../learning/cross-policy.ts'
import type { Outcome } from '../learning/outcome.ts'
import { describeEpisode, type PlayedTurn } from './details.ts'
import {
  branchActivities,
  closingActivities,
  environmentActivities,
  samplingActivities,
  sealingActivities,
} from './dispatch.ts'
import { reasonOf } from './failure-reason.ts'
import { type EpisodePlan, type EpisodeResult, searchAttributes, type VersionRule } from './messages.ts'

/** What the turns have added up to so far. */
interface Tally {
  turns: number
  reward: number
  invalidInARow: number
  /** For the reader of the episode's page. */
  readonly played: PlayedTurn[]
}

/** Plays one instance with the policy, as one durable workflow. */
export async function episode(plan: EpisodePlan): Promise<EpisodeResult> {
  const tally: Tally = { turns: 0, reward: 0, invalidInARow: 0, played: [] }
  let outcome: Outcome
  let failure: unknown
  try {
    outcome = await playTurns(plan, tally)
  } catch (error) {
    failure = error
    outcome = isCancellation(error) ? 'cancelled' : 'infrastructure_error'
  }
  const result = await CancellationScope.nonCancellable(() => end(plan, outcome, tally, failure))
  if (isCancellation(failure)) throw failure
  return result
}

/** What the environment needs of the plan. */
function openingOf(plan: EpisodePlan) {
  const { episode, run, taskIndex, split, position } = plan
  return { episode, run, taskIndex, split, position }
}

async function playTurns(plan: EpisodePlan, tally: Tally): Promise<Outcome> {
  const { sampleAction } = samplingActivities(plan.dispatch, { yields: yieldsToTraining(plan.episode) })
  const drawing = plan.attemptsDrawAlike === true ? firstAttemptOf(plan.episode) : plan.episode
  const draw = uniforms(seedOfWork(plan.seed, drawing, 'versions'))
  const opening = openingOf(plan)
  const { episode, from } = plan
  if (from !== undefined) Object.assign(tally, await branchActivities.beginBranch({ episode, from }))
  const session = await environmentActivities.openEnvironment(opening)
  if (session.sealedAs !== undefined) return session.sealedAs
  const turnLimit = plan.turnLimit ?? session.turnLimit
  while (tally.turns < turnLimit) {
    const turn = tally.turns
    const version = chooseVersion(plan.versions, draw)
    const action = await sampleAction.executeWithOptions(
      { summary: `turn ${turn} · ${version === 'current' ? 'newest version' : `version ${version}`}` },
      [
        {
          episode,
          run: plan.run,
          turn,
          version,
          temperature: plan.temperature,
          maxTokens: plan.maxTokensPerTurn,
          seed: seedOfWork(plan.seed, drawing, turn),
        },
      ],
    )
    if (action.kind === 'context_full') return 'context_limit'
    const step = await environmentActivities.stepEnvironment.executeWithOptions(
      { summary: `turn ${turn}${action.summary === undefined ? '' : ` · ${action.summary}`}` },
      [{ ...opening, turn }],
    )
    record(tally, action.version, step)
    if (step.outcome !== null) return step.outcome
    if (tally.invalidInARow >= plan.invalidActionLimit) return 'invalid_action'
  }
  return 'turn_limit'
}

/** The version of one turn; `current` is whichever is the newest when the turn is sampled. */
function chooseVersion(rule: VersionRule, draw: () => number): number | 'current' {
  if (rule.kind === 'fixed') return rule.version
  const drawn = drawVersion(Number.POSITIVE_INFINITY, rule, [draw(), draw()])
  return Number.isFinite(drawn) ? drawn : 'current'
}

function record(tally: Tally, version: number, result: TurnResult): void {
  tally.played.push({ turn: tally.turns, version, action: result.summary, reward: result.reward })
  tally.turns += 1
  tally.reward += result.reward
  tally.invalidInARow = result.invalid ? tally.invalidInARow + 1 : 0
  setCurrentDetails(describeEpisode(tally))
}

/** Seals the trajectory and closes the session; a session that cannot be closed ends with its worker. */
async function end(
  plan: EpisodePlan,
  outcome: Outcome,
  tally: Tally,
  failure: unknown,
): Promise<EpisodeResult> {
  const { episode, run, taskIndex } = plan
  const reason = failure === undefined ? null : reasonOf(failure)
  const [sealed, closed] = await Promise.allSettled([
    sealingActivities.sealTrajectory({
      episode,
      run,
      taskIndex,
      outcome,
      turns: tally.turns,
      reward: tally.reward,
      failure: reason,
    }),
    closingActivities.closeEnvironment({ episode }),
  ])
  if (sealed.status === 'rejected') throw sealed.reason
  if (closed.status === 'rejected')
    log.warn('session not closed', { episode, reason: reasonOf(closed.reason) })
  const result = sealed.value
  upsertSearchAttributes([
    { key: searchAttributes.outcome, value: outcome },
    { key: searchAttributes.reward, value: result.reward },
  ])
  setCurrentDetails(
    describeEpisode({ ...tally, ending: { outcome, reward: result.reward, failure: reason } }),
  )
  return result
}
