/**
 * Turns: a block of an episode's turns, sampled and played in one call where a process has both engine and environment.
 * The first block opens the episode's session; the last one seals the episode and closes its session.
 *
 * Invariants
 * - [TURNS-1] Each turn is stored under its own identity, as if it were a call by itself: another attempt finds those
 *   that were played, and at most the turn in progress is done again.
 * - [TURNS-2] A block ends with its episode, after the turn in which its time is up, and after the turn in which it is
 *   cancelled. So a slow engine or environment has blocks of one turn.
 * - [TURNS-3] A turn that fails ends the block before it: the turns played so far are its result, and the next block fails
 *   as the turn alone would.
 * - [TURNS-4] Sealing that fails, and an episode that is cancelled, are left to the caller: the block's turns are its
 *   result all the same.
 */
import { Context, log } from '@temporalio/activity'
import type { EpisodeResult } from '../../contract/messages.ts'
import { reasonOf } from '../../faults/reason.ts'
import { type Outcome, outcomeAfter } from '../../learning/evaluation/outcome.ts'
import { clock } from '../../machine/services/clock.ts'
import type { EnvironmentActivities, TurnResult } from './environment.ts'
import type { SampleRequest, SamplingActivities } from './sampling.ts'
import type { Opening } from './session-replay.ts'
import type { TrajectoryActivities } from './trajectory.ts'

/** Which turns to play, and how. */
export interface BlockRequest extends Opening, Pick<SampleRequest, 'temperature' | 'maxTokens'> {
  /** The first of them. */
  readonly turn: number
  /** Whether the episode's session is to be opened. */
  readonly opens: boolean
  /** Turns of the episode at most; null: the task's own limit, which opening its session tells. */
  readonly turnLimit: number | null
  /** The version and the seed of each turn, which bound the number of turns. */
  readonly draws: readonly Pick<SampleRequest, 'version' | 'seed'>[]
  /** Reward of the turns before. */
  readonly reward: number
  /** Invalid actions in a row before the first turn, and how many end the episode. */
  readonly invalidInARow: number
  readonly invalidActionLimit: number
  /** No turn begins after it. */
  readonly blockMs: number
}

/** One turn that was played. */
export interface BlockTurn extends TurnResult {
  /** The version that sampled it. */
  readonly version: number
}

export interface BlockResult {
  readonly turns: readonly BlockTurn[]
  /** How the episode has ended; null while it is in progress. */
  readonly outcome: Outcome | null
  /** The result of the episode, where the block has sealed it. */
  readonly sealed?: EpisodeResult
  /** Turns of the episode at most. */
  readonly turnLimit: number
}

/** Reports each call of a block to observers. */
export type AroundPart = <Argument, Result>(
  name: string,
  argument: Argument,
  call: (argument: Argument) => Promise<Result>,
) => Promise<Result>

interface Dependencies {
  readonly sampling: Pick<SamplingActivities, 'sampleAction'>
  readonly environment: Pick<
    EnvironmentActivities,
    'openEnvironment' | 'stepEnvironment' | 'closeEnvironment'
  >
  readonly trajectories: Pick<TrajectoryActivities, 'sealTrajectory'>
  /** Goes around each of the calls. */
  readonly around: AroundPart
}

/** The wait for a session to close ends after this time; the episode is over. */
const closingMs = 10_000

export type TurnActivities = ReturnType<typeof createTurnActivities>

export function createTurnActivities({ sampling, environment, trajectories, around }: Dependencies) {
  /** @returns undefined where the action does not fit into the context */
  async function playTurn(request: BlockRequest, index: number): Promise<BlockTurn | undefined> {
    const { draws, temperature, maxTokens, episode, run } = request
    const draw = draws[index]
    if (draw === undefined) throw new RangeError(`the block has no draw for its turn ${index}`)
    const turn = request.turn + index
    const action = await around(
      'sampleAction',
      { episode, run, turn, ...draw, temperature, maxTokens },
      sampling.sampleAction,
    )
    if (action.kind === 'context_full') return undefined
    const step = await around('stepEnvironment', { ...openingOf(request), turn }, environment.stepEnvironment)
    return { version: action.version, ...step }
  }

  /** Plays turns until the episode or the block ends. */
  async function playOn(request: BlockRequest, turnLimit: number): Promise<BlockResult> {
    const { invalidActionLimit } = request
    const { cancellationSignal } = Context.current()
    const endsAt = clock.monotonic() + request.blockMs
    const turns: BlockTurn[] = []
    let { invalidInARow } = request
    // An episode that branches off may begin at its end.
    let outcome: Outcome | null = request.turn < turnLimit ? null : 'turn_limit'
    while (outcome === null && turns.length < request.draws.length) {
      try {
        const turn = await playTurn(request, turns.length)
        if (turn === undefined) return { turns, outcome: 'context_limit', turnLimit }
        turns.push(turn)
        invalidInARow = turn.invalid ? invalidInARow + 1 : 0
        const played = request.turn + turns.length
        outcome = outcomeAfter({ ...turn, invalidInARow, invalidActionLimit, turns: played, turnLimit })
      } catch (error) {
        if (turns.length === 0) throw error
        break
      }
      if (clock.monotonic() >= endsAt || cancellationSignal.aborted) break
    }
    return { turns, outcome, turnLimit }
  }

  async function seal(request: BlockRequest, { turns, outcome }: BlockResult & { outcome: Outcome }) {
    const { episode, run, taskIndex } = request
    const reward = turns.reduce((sum, turn) => sum + turn.reward, request.reward)
    const played = request.turn + turns.length
    const sealing = { episode, run, taskIndex, outcome, reward, failure: null, turns: played }
    return await around('sealTrajectory', sealing, trajectories.sealTrajectory)
  }

  /** Closes the session, and waits for that as long as sessions usually take. */
  async function close({ episode }: BlockRequest): Promise<void> {
    const closed = new AbortController()
    const closing = around('closeEnvironment', { episode }, environment.closeEnvironment)
      .catch((error: unknown) => log.warn('session not closed', { episode, reason: reasonOf(error) }))
      .finally(() => closed.abort())
    const tooLong = clock.sleep(closingMs, { signal: closed.signal }).catch(() => undefined)
    await Promise.race([closing, tooLong])
  }

  return {
    /** Plays turns until the episode or the block ends. @returns at least one turn, unless the episode has ended */
    async playTurns(request: BlockRequest): Promise<BlockResult> {
      let { turnLimit } = request
      if (request.opens || turnLimit === null) {
        const opened = await around('openEnvironment', openingOf(request), environment.openEnvironment)
        turnLimit ??= opened.turnLimit
        if (opened.sealedAs !== undefined) return { turns: [], outcome: opened.sealedAs, turnLimit }
      }
      const block = await playOn(request, turnLimit)
      const { outcome } = block
      if (outcome === null || Context.current().cancellationSignal.aborted) return block
      try {
        const sealed = await seal(request, { ...block, outcome })
        await close(request)
        return { ...block, sealed }
      } catch (error) {
        log.warn('episode not sealed yet', { episode: request.episode, reason: reasonOf(error) })
        return block
      }
    },
  }
}

function openingOf({ episode, run, taskIndex, split, position }: BlockRequest): Opening {
  return { episode, run, taskIndex, split, position }
}
