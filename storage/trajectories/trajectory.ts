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
import { tokenVersions } from '../../learning/run/version-spans.ts'
import type { Message } from '../../messages/message.ts'
import { StorageFault } from '../disk/fault.ts'
import type { ActionsTable, ObservationsTable } from '../sqlite/schema.ts'
import { actionOf } from './actions.ts'
import type { EpisodeEnding, SealedEpisode } from './episode.ts'
import { observationOf, type StoredObservation, stateKey } from './observations.ts'

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

/** Arrays are [time], over all tokens of the episode. */
export interface Trajectory {
  readonly episode: SealedEpisode
  readonly tokens: Int32Array
  /** 1 where the policy sampled the token. */
  readonly lossMask: Uint8Array
  /** 0 where the mask is 0. */
  readonly logprobs: Float32Array
  /** −1 where the mask is 0. */
  readonly versions: Int32Array
  /** [turns], in their order. */
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
      (sum, { prompt, tokens, logprobs, message, problems }) =>
        sum +
        prompt.byteLength +
        tokens.byteLength +
        logprobs.byteLength +
        sizeOf(message) +
        sizeOf(problems),
      0,
    )
  )
}

/** Verifies and assembles. @throws StorageFault `corrupt` naming the episode */
export function trajectoryOf(
  episode: SealedEpisode,
  observationRows: readonly Selectable<ObservationsTable>[],
  actionRows: readonly Selectable<ActionsTable>[],
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
  const time = actions.reduce((sum, action) => sum + action.prompt.length + action.tokens.length, 0)
  const tokens = new Int32Array(time)
  const lossMask = new Uint8Array(time)
  const logprobs = new Float32Array(time)
  const versions = new Int32Array(time).fill(-1)
  const turns: SampledTurn[] = []
  let at = 0
  let state: string | undefined
  for (const [turn, action] of actions.entries()) {
    state = stateIn(observations[turn]) ?? state
    const paid = observations[turn + 1]?.reward ?? 0
    tokens.set(action.prompt, at)
    at += action.prompt.length
    const end = at + action.tokens.length
    tokens.set(action.tokens, at)
    logprobs.set(action.logprobs, at)
    lossMask.fill(1, at, end)
    versions.set(tokenVersions(action), at)
    turns.push({ version: action.version, begin: at, end, paid, ...(state === undefined ? {} : { state }) })
    at = end
  }

  const messages: Message[] = []
  for (let turn = 0; turn < Math.max(observations.length, actions.length); turn++) {
    messages.push(...(observations[turn]?.messages ?? []))
    const action = actions[turn]
    if (action !== undefined) messages.push(action.message)
  }
  const paid = observations.reduce((sum, { reward }) => sum + reward, 0)
  const unusable = observations.filter(({ info }) => info.invalid === true).length
  const cutOff = actions.filter(({ finish }) => finish === 'length').length
  return { episode, tokens, lossMask, logprobs, versions, turns, paid, unusable, cutOff, messages }
}

/** The state that an observation names; an action that could not be read is answered without the environment, which stays as it was. */
function stateIn(observation: StoredObservation | undefined): string | undefined {
  const state = observation?.info[stateKey]
  return typeof state === 'string' ? state : undefined
}
