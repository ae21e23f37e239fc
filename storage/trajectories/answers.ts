/**
 * Answers: what models have answered the questions of an episode's environment, and in what they failed.
 *
 * Invariants
 * - [ANSWERS-1] The first answer under (episode, turn, role, number) is kept; a later one is reported as such, and changes nothing.
 * - [ANSWERS-2] A fault never takes the place of an answer. Faults of a question are numbered by its tries.
 * - [ANSWERS-3] Costs count answers and faults: a wrong answer has its price too.
 */
import { type Kysely, type Selectable, sql } from 'kysely'
import type { EpisodeId, ParentId, RunId } from '../../identity/identity.ts'
import type { Statements } from '../tables/backend.ts'
import { jsonOf, type Precedence, precedenceOf } from '../tables/codec.ts'
import type { AnswerFaultsTable, AnswersTable, Schema } from '../tables/schema.ts'

/** The place of a question. */
export interface QuestionKey {
  readonly episode: EpisodeId
  /** That of the observation that follows from the answer: 0 is the reset. */
  readonly turn: number
  readonly role: string
  /** Position among the questions to this role in the turn. */
  readonly number: number
}

/** The price of a try. */
export interface AnswerCost {
  /** Null where the source does not say. */
  readonly promptTokens: number | null
  readonly completionTokens: number | null
  /** By the prices that are configured. */
  readonly cost: number
  readonly seconds: number
}

export interface StoredAnswer extends QuestionKey, AnswerCost {
  /** Names the question by what it says. */
  readonly hash: string
  readonly messages: readonly { readonly role: string; readonly content: string }[]
  /** `policy`, or the address of an endpoint. */
  readonly source: string
  /** A name, or the version of the policy. */
  readonly model: string
  readonly text: string
  /** Milliseconds since the epoch. */
  readonly created: number
}

export interface AnswerFault extends QuestionKey, AnswerCost {
  /** From 0. */
  readonly try: number
  readonly kind: string
  readonly reason: string
  readonly created: number
}

/** Sums over questions. */
export interface AskedTotals {
  /** Questions that were answered. */
  readonly answers: number
  readonly faults: number
  /** Tokens that were read and written. */
  readonly tokens: number
  readonly cost: number
}

/** The sums without a question. */
export const nothingAsked: AskedTotals = { answers: 0, faults: 0, tokens: 0, cost: 0 }

export interface Answers {
  put(answer: StoredAnswer): Promise<Precedence>
  get(key: QuestionKey): Promise<StoredAnswer | undefined>
  /** In the order of turns. */
  list(episode: EpisodeId): Promise<readonly StoredAnswer[]>
  /** Adds a fault under the next try of its question. */
  addFault(fault: Omit<AnswerFault, 'try'>): Promise<void>
  /** In the order of turns and tries. */
  faults(episode: EpisodeId): Promise<readonly AnswerFault[]>
  /** The sums over all episodes of these groups and evaluations, or of a run. */
  totals(of: readonly ParentId[] | RunId): Promise<AskedTotals>
}

export function createAnswers(db: Kysely<Schema>, statements: Statements): Answers {
  const { one, insert, ofEpisode, faultsOf, insertFault } = queriesOf(db)
  return {
    async put(answer) {
      const { episode, turn, role, number, hash, messages, source, model, text, created } = answer
      const said = [hash, JSON.stringify(messages), source, model, text]
      const parameters = [episode, turn, role, number, ...said, ...costOf(answer), created]
      return precedenceOf(await statements.write(insert, parameters))
    },

    async get({ episode, turn, role, number }) {
      const row = await statements.first(one, [episode, turn, role, number])
      return row === undefined ? undefined : answerOf(row)
    },

    list: async (episode) => (await statements.all(ofEpisode, [episode])).map(answerOf),

    async addFault(fault) {
      const { episode, turn, role, number, kind, reason, created } = fault
      const key = [episode, turn, role, number]
      // The next try is found by the insert itself, which two processes cannot do at once.
      await statements.write(insertFault, [...key, ...key, kind, reason, ...costOf(fault), created])
    },

    faults: async (episode) => (await statements.all(faultsOf, [episode])).map(faultOf),

    async totals(of) {
      const [answers, faults] = await Promise.all([
        sumsOf(db, 'answers', of),
        sumsOf(db, 'answer_faults', of),
      ])
      return {
        answers: answers.rows,
        faults: faults.rows,
        tokens: answers.tokens + faults.tokens,
        cost: answers.cost + faults.cost,
      }
    },
  }
}

const noKey = { episode: '', turn: 0, role: '', number: 0 }
const noCost = { prompt_tokens: null, completion_tokens: null, cost: 0, seconds: 0 }

/** Compiled once; their parameters come in the order of the columns. */
function queriesOf(db: Kysely<Schema>) {
  const answers = db.selectFrom('answers').selectAll().where('episode', '=', '')
  const faults = db.selectFrom('answer_faults').selectAll().where('episode', '=', '')
  return {
    one: answers.where('turn', '=', 0).where('role', '=', '').where('number', '=', 0).compile(),
    ofEpisode: answers.orderBy('turn').orderBy('role').orderBy('number').compile(),
    faultsOf: faults.orderBy('turn').orderBy('role').orderBy('number').orderBy('try').compile(),
    insert: db
      .insertInto('answers')
      .values({ ...noKey, hash: '', messages: '', source: '', model: '', text: '', ...noCost, created: 0 })
      .onConflict((conflict) => conflict.doNothing())
      .compile(),
    insertFault: sql`insert into answer_faults values (${''}, ${0}, ${''}, ${0},
      (select count(*) from answer_faults where episode = ${''} and turn = ${0} and role = ${''} and number = ${0}),
      ${''}, ${''}, ${null}, ${null}, ${0}, ${0}, ${0})`.compile(db),
  }
}

function costOf({ promptTokens, completionTokens, cost, seconds }: AnswerCost): readonly (number | null)[] {
  return [promptTokens, completionTokens, cost, seconds]
}

async function sumsOf(
  db: Kysely<Schema>,
  table: 'answers' | 'answer_faults',
  of: readonly ParentId[] | RunId,
) {
  if (of.length === 0) return { rows: 0, tokens: 0, cost: 0 }
  const which = typeof of === 'string' ? sql`e.run = ${of}` : sql`e.parent in (${sql.join(of)})`
  const { rows } = await sql<{ rows: number; tokens: number; cost: number }>`
    select count(*) as rows, coalesce(sum(a.cost), 0) as cost,
      coalesce(sum(coalesce(a.prompt_tokens, 0) + coalesce(a.completion_tokens, 0)), 0) as tokens
    from ${sql.table(table)} a join episodes e on e.id = a.episode
    where ${which}`.execute(db)
  return rows[0] ?? { rows: 0, tokens: 0, cost: 0 }
}

function keyIn({ episode, turn, role, number }: Selectable<AnswersTable | AnswerFaultsTable>): QuestionKey {
  return { episode: episode as EpisodeId, turn, role, number }
}

function costIn(row: Selectable<AnswersTable | AnswerFaultsTable>): AnswerCost {
  const { prompt_tokens: promptTokens, completion_tokens: completionTokens, cost, seconds } = row
  return { promptTokens, completionTokens, cost, seconds }
}

/** @throws StorageFault `corrupt` */
function answerOf(row: Selectable<AnswersTable>): StoredAnswer {
  const { hash, source, model, text, created } = row
  const subject = `answer ${row.number} in turn ${row.turn} of episode ${row.episode}: messages`
  const messages = jsonOf<StoredAnswer['messages']>(row.messages, subject)
  return { ...keyIn(row), hash, messages, source, model, text, ...costIn(row), created }
}

function faultOf(row: Selectable<AnswerFaultsTable>): AnswerFault {
  const { kind, reason, created } = row
  return { ...keyIn(row), try: row.try, kind, reason, ...costIn(row), created }
}
