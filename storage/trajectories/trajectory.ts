/**
 * Trajectory: the whole of a sealed episode, as training and export read it.
 *
 * Invariants
 * - [TRAJECTORY-1] Tokens are those that the policy read and sampled, in order; the mask marks exactly the sampled
 *   ones.
 * - [TRAJECTORY-2] The checksum depends on every byte that counts: a changed, missing or exchanged turn changes it.
 */
import { createHash } from 'node:crypto'
import type { Selectable } from 'kysely'
import type { EpisodeId } from '../../identity/identity.ts'
import type { LearntBranches } from '../../learning/rollout/learnt-branches.ts'
import type { Message } from '../../messages/message.ts'
import { StorageFault } from '../disk/fault.ts'
import type { ActionsTable, ObservationsTable } from '../tables/schema.ts'
import { actionOf } from './actions.ts'
import type { EpisodeEnding, SealedEpisode } from './episode.ts'
import { observationOf, type StoredObservation, stateKey } from './observations.ts'
import { type Sequences, sequencesOf } from './sequences.ts'

/** Which version sampled a turn, and where its tokens stand. */
export interface SampledTurn {
  /** The oldest, where several did. */
  readonly version: number
  /** The turn's tokens are those of the episode from `begin` to before `end`. */
  readonly begin: number
  readonly end: number
  /** Reward that the environment paid for its action. */
  readonly paid: number
  /** Names the state that the action was taken in, where the environment knows it. */
  readonly state?: string
}

export interface Trajectory extends Sequences {
  readonly episode: SealedEpisode
  /** [turns], in their order. A turn whose tokens do not count begins and ends at 0. */
  readonly turns: readonly SampledTurn[]
  /** Reward that the environment paid, over all steps; it contains no penalty. */
  readonly paid: number
  /** Actions that the environment could not use, and that were cut off at the limit of a turn's tokens. */
  readonly unusable: number
  readonly cutOff: number
  /** Observations and actions in the order in which they happened. */
  readonly messages: readonly Message[]
}

/** SHA-256 over outcome, reward, observations and actions; each part goes in with its name and length. */
export function trajectoryChecksum(
  episode: EpisodeId,
  { outcome, reward }: Pick<EpisodeEnding, 'outcome' | 'reward'>,
  observations: readonly Selectable<ObservationsTable>[],
  actions: readonly Selectable<ActionsTable>[],
): string {
  const hash = createHash('sha256')
  const add = (name: string, bytes: string | Uint8Array): void => {
    hash.update(`${name} ${typeof bytes === 'string' ? Buffer.byteLength(bytes) : bytes.byteLength}\n`)
    hash.update(bytes)
  }
  add('episode', JSON.stringify([episode, outcome, reward, observations.length, actions.length]))
  for (const row of observations) {
    add('observation', JSON.stringify([row.turn, row.reward, row.done, row.outcome]))
    add('messages', row.messages)
    add('info', row.info)
    add('tools', row.tools ?? '')
  }
  for (const row of actions) {
    add('action', JSON.stringify([row.turn, row.version, row.finish]))
    if (row.spans !== null) add('spans', row.spans)
    if (row.branch !== null) {
      add('asked', JSON.stringify([row.branch, row.follows, row.form]))
      add('request', row.request ?? '')
      add('answer', row.answer ?? '')
    }
    add('prompt', row.prompt)
    add('tokens', row.tokens)
    add('logprobs', row.logprobs)
    add('message', row.message)
    add('problems', row.problems)
  }
  return hash.digest('hex')
}

/** Bytes of a trajectory's rows, without the database's own share. */
export function trajectoryBytes(
  observations: readonly Selectable<ObservationsTable>[],
  actions: readonly Selectable<ActionsTable>[],
): number {
  const sizeOf = (text: string | null) => (text === null ? 0 : Buffer.byteLength(text))
  return (
    observations.reduce((sum, row) => sum + sizeOf(row.messages) + sizeOf(row.info) + sizeOf(row.tools), 0) +
    actions.reduce(
      (sum, { prompt, tokens, logprobs, message, problems, answer }) =>
        sum +
        prompt.byteLength +
        tokens.byteLength +
        logprobs.byteLength +
        sizeOf(message) +
        sizeOf(problems) +
        sizeOf(answer),
      0,
    )
  )
}

/** Verifies and assembles. @param branches that are learnt from @throws StorageFault `corrupt` naming the episode */
export function trajectoryOf(
  episode: SealedEpisode,
  observationRows: readonly Selectable<ObservationsTable>[],
  actionRows: readonly Selectable<ActionsTable>[],
  branches: LearntBranches = 'all',
): Trajectory {
  const { seal } = episode
  const countedObservations = observationRows.slice(0, seal.observations)
  const countedActions = actionRows.slice(0, seal.turns)
  const found = trajectoryChecksum(episode.id, seal, countedObservations, countedActions)
  if (found !== seal.checksum)
    throw new StorageFault(
      'corrupt',
      `episode ${episode.id} is not what was sealed (checksum ${found.slice(0, 12)}…, expected ${seal.checksum.slice(0, 12)}…); it is not used`,
    )

  const actions = countedActions.map(actionOf)
  const observations = countedObservations.map(observationOf)
  const { places, ...sequences } = sequencesOf(actions, branches)
  let state: string | undefined
  const turns = actions.map(({ version }, turn): SampledTurn => {
    state = stateIn(observations[turn]) ?? state
    const paid = observations[turn + 1]?.reward ?? 0
    const { begin, end } = places[turn] ?? { begin: 0, end: 0 }
    return { version, begin, end, paid, ...(state === undefined ? {} : { state }) }
  })

  const messages: Message[] = []
  for (let turn = 0; turn < Math.max(observations.length, actions.length); turn++) {
    messages.push(...(observations[turn]?.messages ?? []))
    const action = actions[turn]
    if (action !== undefined) messages.push(action.message)
  }
  const paid = observations.reduce((sum, { reward }) => sum + reward, 0)
  const unusable = observations.filter(({ info }) => info.invalid === true).length
  const cutOff = actions.filter(({ finish }) => finish === 'length').length
  return { episode, ...sequences, turns, paid, unusable, cutOff, messages }
}

/** The state that an observation names; an action that could not be read is answered without the environment, which stays as it was. */
function stateIn(observation: StoredObservation | undefined): string | undefined {
  const state = observation?.info[stateKey]
  return typeof state === 'string' ? state : undefined
}
