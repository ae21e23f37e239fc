/**
 * Turns: a block of an episode's turns, sampled and played in one call where a process has both engine and environment.
 *
 * Invariants
 * - [TURNS-1] Each turn is stored under its own identity, as if it were a call by itself: another attempt finds those
 *   that were played, and at most the turn in progress is done again.
 * - [TURNS-2] A block ends with its episode, after the turn in which its time is up, and after the turn in which it is
 *   cancelled. So a slow engine or environment has blocks of one turn.
 * - [TURNS-3] A turn that fails ends the block before it: the turns played so far are its result, and the next block fails
 *   as the turn alone would.
 */
import { Context } from '@temporalio/activity'
import type { EnvironmentActivities, TurnResult } from './environment.ts'
import type { SampleRequest, SamplingActivities } from './sampling.ts'
import type { Opening } from './session-replay.ts'

/** Which turns to play, and how. */
export interface BlockRequest extends Opening, Pick<SampleRequest, 'temperature' | 'maxTokens'> {
  /** The first of them. */
  readonly turn: number
  /** The version and the seed of each turn, which bound the number of turns. */
  readonly draws: readonly Pick<SampleRequest, 'version' | 'seed'>[]
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
  /** Whether the action after them does not fit into the policy's context. */
  readonly contextFull: boolean
}

/** Reports a call that a block consists of to observers. */
export type AroundPart = <Argument, Result>(
  name: string,
  argument: Argument,
  call: (argument: Argument) => Promise<Result>,
) => Promise<Result>

interface Dependencies {
  readonly sampling: Pick<SamplingActivities, 'sampleAction'>
  readonly environment: Pick<EnvironmentActivities, 'stepEnvironment'>
  /** Goes around each of the two calls of a turn. */
  readonly around: AroundPart
}

export type TurnActivities = ReturnType<typeof createTurnActivities>

export function createTurnActivities({ sampling, environment, around }: Dependencies) {
  /** @returns undefined where the action does not fit into the context */
  async function playTurn(request: BlockRequest, index: number): Promise<BlockTurn | undefined> {
    const { draws, temperature, maxTokens, episode, run, taskIndex, split, position } = request
    const draw = draws[index]
    if (draw === undefined) throw new RangeError(`the block has no draw for its turn ${index}`)
    const turn = request.turn + index
    const action = await around(
      'sampleAction',
      { episode, run, turn, ...draw, temperature, maxTokens },
      sampling.sampleAction,
    )
    if (action.kind === 'context_full') return undefined
    const step = await around(
      'stepEnvironment',
      { episode, run, taskIndex, split, position, turn },
      environment.stepEnvironment,
    )
    return { version: action.version, ...step }
  }

  return {
    /** Plays turns until the episode or the block ends. @returns at least one turn, unless the context is full */
    async playTurns(request: BlockRequest): Promise<BlockResult> {
      const { cancellationSignal } = Context.current()
      const endsAt = performance.now() + request.blockMs
      const turns: BlockTurn[] = []
      let { invalidInARow } = request
      while (turns.length < request.draws.length) {
        try {
          const turn = await playTurn(request, turns.length)
          if (turn === undefined) return { turns, contextFull: true }
          turns.push(turn)
          invalidInARow = turn.invalid ? invalidInARow + 1 : 0
          if (turn.outcome !== null || invalidInARow >= request.invalidActionLimit) break
        } catch (error) {
          if (turns.length === 0) throw error
          break
        }
        if (performance.now() >= endsAt || cancellationSignal.aborted) break
      }
      return { turns, contextFull: false }
    },
  }
}
