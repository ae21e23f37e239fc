/**
 * Observations: what the environment said, turn by turn; turn 0 is the reset.
 *
 * Invariants
 * - The first write of (episode, turn) is kept; a replayed turn finds it there.
 */
import type { Kysely, Selectable } from 'kysely'
import type { EpisodeId } from '../../identity/identity.ts'
import type { Outcome } from '../../learning/evaluation/outcome.ts'
import type { JsonObject, Message, ToolSpec } from '../../messages/message.ts'
import type { Statements } from '../tables/backend.ts'
import { jsonOf, type Precedence, precedenceOf } from '../tables/codec.ts'
import type { ObservationsTable, Schema } from '../tables/schema.ts'
import type { TurnTime } from './turn-time.ts'

/** Key in `info` that names the state of the environment, where it reports one. */
export const stateKey = 'exactState'
/** Key in `info` of the last words that an agent's own program wrote. */
export const outputKey = 'agentOutput'
/** Key in `info` of the values that the metrics of the environment have then. */
export const metricsKey = 'metricsNow'

export interface StoredObservation {
  readonly episode: EpisodeId
  /** Observation t is what the agent sees before its action t; the answer to action t has turn t + 1. */
  readonly turn: number
  readonly messages: readonly Message[]
  readonly reward: number
  readonly done: boolean
  readonly outcome?: Outcome
  readonly info: JsonObject
  /** Present at turn 0, and where the tools changed. */
  readonly tools?: readonly ToolSpec[]
}

export interface Observations {
  /** @param took what the environment's step took, or its reset */
  put(observation: StoredObservation, took?: TurnTime): Promise<Precedence>
  get(episode: EpisodeId, turn: number): Promise<StoredObservation | undefined>
  /** In the order of turns. */
  list(episode: EpisodeId): Promise<StoredObservation[]>
  /** Removes the observation of a turn, where one is. */
  remove(episode: EpisodeId, turn: number): Promise<void>
  /** The same as they are stored. */
  rows(episode: EpisodeId): Promise<readonly Selectable<ObservationsTable>[]>
}

export function createObservations(db: Kysely<Schema>, statements: Statements): Observations {
  const insert = db
    .insertInto('observations')
    .values({
      episode: '',
      turn: 0,
      messages: '',
      reward: 0,
      done: 0,
      outcome: '',
      info: '',
      tools: '',
      seconds: null,
      attempt: null,
    })
    .onConflict((conflict) => conflict.doNothing())
    .compile()
  const one = db
    .selectFrom('observations')
    .selectAll()
    .where('episode', '=', '')
    .where('turn', '=', 0)
    .compile()
  const removal = db.deleteFrom('observations').where('episode', '=', '').where('turn', '=', 0).compile()
  const rows = db.selectFrom('observations').selectAll().where('episode', '=', '').orderBy('turn').compile()

  return {
    async put({ episode, turn, messages, reward, done, outcome, info, tools }, took) {
      const parameters = [
        episode,
        turn,
        JSON.stringify(messages),
        reward,
        done ? 1 : 0,
        outcome ?? null,
        JSON.stringify(info),
        tools === undefined ? null : JSON.stringify(tools),
        took?.seconds ?? null,
        took?.attempt ?? null,
      ]
      return precedenceOf(await statements.write(insert, parameters))
    },

    async get(episode, turn) {
      const row = await statements.first(one, [episode, turn])
      return row === undefined ? undefined : observationOf(row)
    },

    async remove(episode, turn) {
      await statements.write(removal, [episode, turn])
    },

    rows: (episode) => statements.all(rows, [episode]),

    async list(episode) {
      return (await statements.all(rows, [episode])).map(observationOf)
    },
  }
}

/** @throws StorageFault `corrupt` */
export function observationOf(row: Selectable<ObservationsTable>): StoredObservation {
  const subject = `observation ${row.turn} of episode ${row.episode}`
  return {
    episode: row.episode as EpisodeId,
    turn: row.turn,
    messages: jsonOf(row.messages, `${subject}: messages`),
    reward: row.reward,
    done: row.done !== 0,
    ...(row.outcome === null ? {} : { outcome: row.outcome as Outcome }),
    info: jsonOf(row.info, `${subject}: info`),
    ...(row.tools === null ? {} : { tools: jsonOf<ToolSpec[]>(row.tools, `${subject}: tools`) }),
  }
}
