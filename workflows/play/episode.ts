/**
 * Episode: open the environment, then sample and step until the end, then seal and close.
 *
 * Invariants
 * - [EPISODE-1] Every episode is sealed exactly once, with one outcome, also when it fails or is cancelled. A sealed episode
 *   that is played again returns its result.
 * - [EPISODE-2] An infrastructure failure never becomes a reward.
 * - [EPISODE-3] Versions and actions are drawn from seed and identity alone. Where attempts draw alike the identity is the
 *   sample's, so that a new attempt plays the turns of the failed one; else it is the attempt's own.
 * - [EPISODE-4] An episode that branches off plays only the turns from there on; those before it count as its own.
 * - [EPISODE-5] Turns are played in blocks where a process can sample and play them, and a block changes nothing of
 *   what is drawn, stored or rewarded: the episode is the same, turn by turn.
 * - [EPISODE-6] An episode that an agent's own program plays is one activity, which ends the program with all that it started. A program
 *   that diverges from its recorded turns ends the episode as `diverged`, without a reward.
 * - The history grows by a few numbers per turn; texts and tokens stay in the store.
 */
import {
  CancellationScope,
  isCancellation,
  log,
  setCurrentDetails,
  upsertSearchAttributes,
} from '@temporalio/workflow'
import type { SampleRequest } from '../../activities/play/sampling.ts'
import type { BlockTurn } from '../../activities/play/turns.ts'
import { isDivergence, lossOf } from '../../contract/episode-loss.ts'
import {
  type AgentPlan,
  type EpisodePlan,
  type EpisodeResult,
  searchAttributes,
  type VersionRule,
} from '../../contract/messages.ts'
import { drawnAs, seedOfWork, yieldsToTraining } from '../../identity/identity.ts'
import { type Outcome, outcomeAfter } from '../../learning/evaluation/outcome.ts'
import { drawVersion, versionDraws } from '../../learning/rollout/cross-policy.ts'
import {
  agentActivities,
  blockActivities,
  branchActivities,
  closingActivities,
  environmentActivities,
  samplingActivities,
  sealingActivities,
} from '../calls/dispatch.ts'
import { reasonOf } from '../calls/failure-reason.ts'
import { describeEpisode, type PlayedTurn } from '../page/details.ts'

/** Sums over the turns so far. */
interface Tally {
  turns: number
  reward: number
  invalidInARow: number
  /** For the reader of the episode's page. */
  readonly played: PlayedTurn[]
}

/** The outcome of the turns, with the episode's result where a block has sealed it. */
interface Ending {
  readonly outcome: Outcome
  readonly sealed?: EpisodeResult
}

/** Plays one instance with the policy, as one durable workflow. */
export async function episode(plan: EpisodePlan): Promise<EpisodeResult> {
  const tally: Tally = { turns: 0, reward: 0, invalidInARow: 0, played: [] }
  let ending: Ending
  let failure: unknown
  try {
    ending = await playTurns(plan, tally)
  } catch (error) {
    failure = error
    const fault = isDivergence(error) ? 'diverged' : 'infrastructure_error'
    ending = { outcome: isCancellation(error) ? 'cancelled' : fault }
  }
  const result = await CancellationScope.nonCancellable(() => end(plan, ending, tally, failure))
  if (isCancellation(failure)) throw failure
  return result
}

async function playTurns(plan: EpisodePlan, tally: Tally): Promise<Ending> {
  const { dispatch, episode, from, blockMs, agent } = plan
  if (agent !== undefined) return await playByAgent(plan, agent, tally)
  if (from !== undefined) Object.assign(tally, await branchActivities.beginBranch({ episode, from }))
  return dispatch === 'local' && blockMs !== undefined
    ? await playInBlocks(plan, tally, blockMs)
    : await playTurnByTurn(plan, tally)
}

/** Leaves the turns to an agent's own program, in one activity. */
async function playByAgent(plan: EpisodePlan, agent: AgentPlan, tally: Tally): Promise<Ending> {
  const { seed, versions, temperature, maxTokensPerTurn: maxTokens, attemptsDrawAlike } = plan
  const { runAgent } = agentActivities(agent, waitOf(plan))
  const rules = {
    seed,
    versions,
    temperature,
    maxTokens,
    ...(attemptsDrawAlike ? { attemptsDrawAlike } : {}),
  }
  const played = await runAgent({ ...openingOf(plan), ...rules })
  tally.turns = played.turns
  tally.reward = played.reward
  return { outcome: played.outcome }
}

/** The request that opens the environment. */
function openingOf(plan: EpisodePlan) {
  const { episode, run, taskIndex, split, position } = plan
  return { episode, run, taskIndex, split, position }
}

/** Plays as many turns as fit into a block in one activity, which also opens the session, and seals the episode. */
async function playInBlocks(plan: EpisodePlan, tally: Tally, blockMs: number): Promise<Ending> {
  const { temperature, maxTokensPerTurn: maxTokens, invalidActionLimit } = plan
  const { playTurns } = blockActivities(waitOf(plan))
  const drawOf = drawsOf(plan)
  let { turnLimit } = plan
  for (let opens = true; ; opens = false) {
    const { turns: turn, reward, invalidInARow } = tally
    const size = Math.min((turnLimit ?? mostTurnsOfABlock) - turn, mostTurnsOfABlock)
    const draws = Array.from({ length: size }, (_, index) => drawOf(turn + index))
    const rules = { opens, turnLimit, draws, temperature, maxTokens, invalidActionLimit, blockMs }
    const block = await playTurns.executeWithOptions(
      { summary: `turns from ${turn} on · ${policyOf(draws)}` },
      [{ ...openingOf(plan), ...rules, turn, reward, invalidInARow }],
    )
    for (const played of block.turns) record(tally, played)
    const { outcome, sealed } = block
    if (outcome !== null) return { outcome, ...(sealed === undefined ? {} : { sealed }) }
    setCurrentDetails(describeEpisode(tally))
    turnLimit = block.turnLimit
  }
}

/** Plays each turn in two activities: sampling, which may go through the server, and stepping. */
async function playTurnByTurn(plan: EpisodePlan, tally: Tally): Promise<Ending> {
  const { episode, run, temperature, maxTokensPerTurn: maxTokens, invalidActionLimit } = plan
  const opening = openingOf(plan)
  const drawOf = drawsOf(plan)
  const { sampleAction } = samplingActivities(plan.dispatch, waitOf(plan))
  const { openEnvironment, stepEnvironment } = environmentActivities(plan)
  const session = await openEnvironment(opening)
  if (session.sealedAs !== undefined) return { outcome: session.sealedAs }
  const turnLimit = plan.turnLimit ?? session.turnLimit
  while (tally.turns < turnLimit) {
    const { turns: turn } = tally
    const draw = drawOf(turn)
    const action = await sampleAction.executeWithOptions({ summary: `turn ${turn} · ${policyOf([draw])}` }, [
      { episode, run, turn, ...draw, temperature, maxTokens },
    ])
    if (action.kind === 'context_full') return { outcome: 'context_limit' }
    const { version, summary } = action
    const step = await stepEnvironment.executeWithOptions(
      { summary: `turn ${turn}${summary === undefined ? '' : ` · ${summary}`}` },
      [{ ...opening, turn }],
    )
    record(tally, { ...step, version })
    setCurrentDetails(describeEpisode(tally))
    const outcome = outcomeAfter({ ...step, ...tally, invalidActionLimit, turnLimit })
    if (outcome !== null) return { outcome }
  }
  return { outcome: 'turn_limit' }
}

function waitOf({ episode, answerSeconds }: EpisodePlan) {
  return { yields: yieldsToTraining(episode), answerSeconds }
}

/** Bounds what an activity is given; more do not fit into a block's time anyway. */
const mostTurnsOfABlock = 64

type Draw = Pick<SampleRequest, 'version' | 'seed'>

/** Version and seed of each turn by its number; turns are asked for in their order, or again. */
function drawsOf({ episode, seed, attemptsDrawAlike, versions }: EpisodePlan): (turn: number) => Draw {
  const drawing = drawnAs(episode, attemptsDrawAlike === true)
  const draw = versionDraws(seed, drawing)
  const drawn = new Map<number, Draw>()
  return (turn) => {
    const known = drawn.get(turn)
    if (known !== undefined) return known
    const own = { version: chooseVersion(versions, draw), seed: seedOfWork(seed, drawing, turn) }
    drawn.set(turn, own)
    return own
  }
}

/** The version of one turn; `current` is whichever is the newest when the turn is sampled. */
function chooseVersion(rule: VersionRule, draw: () => readonly [number, number]): number | 'current' {
  if (rule.kind === 'fixed') return rule.version
  const drawn = drawVersion(Number.POSITIVE_INFINITY, rule, draw())
  return Number.isFinite(drawn) ? drawn : 'current'
}

/** The versions of turns in words. */
function policyOf(draws: readonly Draw[]): string {
  const older = [...new Set(draws.map(({ version }) => version))].filter((version) => version !== 'current')
  if (older.length === 0) return 'newest version'
  return `version ${older.join(', ')}${draws.some(({ version }) => version === 'current') ? ' and the newest' : ''}`
}

function record(tally: Tally, { version, summary, reward, invalid }: BlockTurn): void {
  tally.played.push({ turn: tally.turns, version, action: summary, reward })
  tally.turns += 1
  tally.reward += reward
  tally.invalidInARow = invalid ? tally.invalidInARow + 1 : 0
}

/** The result of the episode, which is sealed first where no block has sealed it. */
async function end(
  plan: EpisodePlan,
  { outcome, sealed }: Ending,
  tally: Tally,
  failure: unknown,
): Promise<EpisodeResult> {
  const reason = failure === undefined ? null : reasonOf(failure)
  const result = sealed ?? (await seal(plan, outcome, tally, reason))
  upsertSearchAttributes([
    { key: searchAttributes.outcome, value: outcome },
    { key: searchAttributes.reward, value: result.reward },
  ])
  setCurrentDetails(
    describeEpisode({ ...tally, ending: { outcome, reward: result.reward, failure: reason } }),
  )
  const loss = lossOf(failure)
  return loss === undefined ? result : { ...result, loss }
}

/** Seals the trajectory and closes the session; a session that cannot be closed ends with its worker. */
async function seal(
  { episode, run, taskIndex }: EpisodePlan,
  outcome: Outcome,
  { reward, turns }: Tally,
  failure: string | null,
): Promise<EpisodeResult> {
  const known = failure === null ? { turns } : {}
  const [sealed, closed] = await Promise.allSettled([
    sealingActivities.sealTrajectory({ episode, run, taskIndex, outcome, reward, failure, ...known }),
    closingActivities.closeEnvironment({ episode }),
  ])
  if (sealed.status === 'rejected') throw sealed.reason
  if (closed.status === 'rejected')
    log.warn('session not closed', { episode, reason: reasonOf(closed.reason) })
  return sealed.value
}
