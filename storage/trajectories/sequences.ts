/**
 * Sequences: the tokens of an episode as a trainer reads them. Turns that follow one another are one sequence; where an agent's own
 * program branched, there is one for each branch, from the beginning of the conversation to the branch's last turn.
 *
 * Invariants
 * - [SEQUENCES-1] Before each sampled token are the tokens after which it was sampled, and no others of its sequence.
 * - [SEQUENCES-2] With `all` every turn counts in one sequence, that of its own branch; with `last` the turns of one sequence do.
 */
import type { LearntBranches } from '../../learning/rollout/learnt-branches.ts'
import { tokenVersions } from '../../learning/run/version-spans.ts'
import type { StoredAction } from './actions.ts'

/** Arrays are [time], over all tokens of the episode. */
export interface Sequences {
  readonly tokens: Int32Array
  /** 1 where the policy sampled the token, and it counts. */
  readonly lossMask: Uint8Array
  /** 0 where the mask is 0. */
  readonly logprobs: Float32Array
  /** −1 where the mask is 0. */
  readonly versions: Int32Array
  /** Where a sequence begins, beside the first at 0; absent: nowhere. */
  readonly laterSequences?: readonly number[]
}

/** Where the tokens of a turn count; undefined: nowhere. */
export type TurnPlace = { readonly begin: number; readonly end: number } | undefined

/** A turn of a sequence, and whether its tokens count there. */
interface Part {
  readonly action: StoredAction
  readonly counts: boolean
}

/** @param actions of one episode, in the order of turns */
export function sequencesOf(
  actions: readonly StoredAction[],
  branches: LearntBranches,
): Sequences & { readonly places: readonly TurnPlace[] } {
  const sequences = partsOf(actions, branches)
  const parts = sequences.flat()
  const time = parts.reduce((sum, { action }) => sum + action.prompt.length + action.tokens.length, 0)
  const tokens = new Int32Array(time)
  const lossMask = new Uint8Array(time)
  const logprobs = new Float32Array(time)
  const versions = new Int32Array(time).fill(-1)
  const places = actions.map((): TurnPlace => undefined)
  const starts: number[] = []
  let at = 0
  for (const sequence of sequences) {
    starts.push(at)
    for (const { action, counts } of sequence) {
      tokens.set(action.prompt, at)
      const begin = at + action.prompt.length
      const end = begin + action.tokens.length
      tokens.set(action.tokens, begin)
      if (counts) {
        logprobs.set(action.logprobs, begin)
        lossMask.fill(1, begin, end)
        versions.set(tokenVersions(action), begin)
        places[action.turn] = { begin, end }
      }
      at = end
    }
  }
  const laterSequences = starts.slice(1)
  return {
    tokens,
    lossMask,
    logprobs,
    versions,
    places,
    ...(laterSequences.length === 0 ? {} : { laterSequences }),
  }
}

/** [sequences] */
function partsOf(actions: readonly StoredAction[], branches: LearntBranches): readonly (readonly Part[])[] {
  if (!actions.some(({ asked }) => asked !== undefined))
    return [actions.map((action) => ({ action, counts: true }))]
  if (branches === 'last')
    return [pathTo(actions, actions.at(-1)).map((action) => ({ action, counts: true }))]
  const tips = new Map(actions.map((action) => [action.asked?.branch ?? 0, action]))
  return [...tips].map(([branch, tip]) =>
    pathTo(actions, tip).map((action) => ({ action, counts: action.asked?.branch === branch })),
  )
}

/** The turns from the beginning of the conversation to one of them. */
export function pathTo(
  actions: readonly StoredAction[],
  tip: StoredAction | undefined,
): readonly StoredAction[] {
  const path: StoredAction[] = []
  for (let turn = tip; turn !== undefined; turn = actions[turn.asked?.follows ?? -1]) path.unshift(turn)
  return path
}
