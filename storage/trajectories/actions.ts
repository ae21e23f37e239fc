/**
 * Actions: the tokens that the policy sampled in each turn, with their logprobs and version.
 *
 * Invariants
 * - The first write of (episode, turn) is kept: a second sampler of the same turn learns that it came late.
 * - Tokens and logprobs are read back bit for bit.
 * - [ACTION-1] Every token has the version that sampled it: the action's, or its span's where several versions sampled the action.
 * - The context of turn t is prompt 0, action 0, …, prompt t: the store has the whole input of the policy.
 * - Written and read again they are the same; what cannot be spans is refused as `corrupt` and named.
 * - [ACTION-2] A turn that an agent's own program asked for is stored with its place in the tree of turns and with the bytes of its
 *   answer, in one row.
 */
import type { Kysely, Selectable } from 'kysely'
import { z } from 'zod'
import type { EpisodeId } from '../../identity/identity.ts'
import { areSpansOf, type VersionSpan } from '../../learning/run/version-spans.ts'
import type { AssistantMessage } from '../../messages/message.ts'
import { StorageFault } from '../disk/fault.ts'
import type { Statements } from '../tables/backend.ts'
import { blobOf, float32Of, int32Of, jsonOf, type Precedence, precedenceOf } from '../tables/codec.ts'
import type { ActionsTable, Schema } from '../tables/schema.ts'
import type { TurnTime } from './turn-time.ts'

/** How an agent's own program asked for a turn. */
export interface AskedTurn {
  /** Its branch of the episode, from 0 on. */
  readonly branch: number
  /** The turn after which its prompt comes; −1 where it begins the conversation. */
  readonly follows: number
  /** Path of the API. */
  readonly form: string
  /** Digest of the request. */
  readonly request: string
  /** The body of the answer. */
  readonly answer: string
}

export interface StoredAction {
  readonly episode: EpisodeId
  readonly turn: number
  /** [promptTokens] appended to the context since the action before. */
  readonly prompt: Int32Array
  /** [actionTokens] */
  readonly tokens: Int32Array
  /** [actionTokens] */
  readonly logprobs: Float32Array
  /** Policy version that sampled its first token, and all of them where there are no spans. */
  readonly version: number
  /** All tokens in their order, by the version that sampled them; absent where one sampled them all. */
  readonly spans?: readonly VersionSpan[] | undefined
  readonly finish: 'stop' | 'length'
  readonly message: AssistantMessage
  /** Unusable parts of the action, as JSON; empty for a clean one. */
  readonly problems: readonly unknown[]
  /** Present in episodes of an agent's own program. */
  readonly asked?: AskedTurn
}

export interface Actions {
  /** @param took what sampling it took @throws RangeError logprobs or spans of another length than the tokens */
  put(action: StoredAction, took?: TurnTime): Promise<Precedence>
  get(episode: EpisodeId, turn: number): Promise<StoredAction | undefined>
  /** In the order of turns. */
  list(episode: EpisodeId): Promise<StoredAction[]>
  /** The same as they are stored. */
  rows(episode: EpisodeId): Promise<readonly Selectable<ActionsTable>[]>
  /**
   * All tokens of the turns so far, [time], without reading anything else; empty before the first action.
   * `borders`: how many of them each turn's action was sampled after.
   */
  context(episode: EpisodeId): Promise<EpisodeContext & { readonly turns: number }>
}

/** The tokens of an episode so far, and where in them the actions begin. */
export interface EpisodeContext {
  readonly tokens: Int32Array
  readonly borders: readonly number[]
}

export function createActions(db: Kysely<Schema>, statements: Statements): Actions {
  const none = new Uint8Array(0)
  const insert = db
    .insertInto('actions')
    .values({
      episode: '',
      turn: 0,
      prompt: none,
      tokens: none,
      logprobs: none,
      version: 0,
      finish: '',
      message: '',
      problems: '',
      seconds: null,
      attempt: null,
      spans: null,
      branch: null,
      follows: null,
      form: null,
      request: null,
      answer: null,
    })
    .onConflict((conflict) => conflict.doNothing())
    .compile()
  const one = db.selectFrom('actions').selectAll().where('episode', '=', '').where('turn', '=', 0).compile()
  const rows = db.selectFrom('actions').selectAll().where('episode', '=', '').orderBy('turn').compile()
  const contexts = db
    .selectFrom('actions')
    .select(['turn', 'prompt', 'tokens'])
    .where('episode', '=', '')
    .orderBy('turn')
    .compile()

  return {
    async put(action, took) {
      const { episode, turn, tokens, logprobs, version, spans } = action
      if (spans !== undefined && !areSpansOf({ version, tokens }, spans))
        throw new RangeError(
          `action ${turn} of episode ${episode}: its spans do not begin with version ${version} and cover its ${tokens.length} tokens`,
        )
      if (tokens.length !== logprobs.length)
        throw new RangeError(
          `action ${turn} of episode ${episode}: ${logprobs.length} logprobs, expected one for each of its ${tokens.length} tokens`,
        )
      return precedenceOf(await statements.write(insert, rowOf(action, took)))
    },

    async get(episode, turn) {
      const row = await statements.first(one, [episode, turn])
      return row === undefined ? undefined : actionOf(row)
    },

    rows: (episode) => statements.all(rows, [episode]),

    async list(episode) {
      return (await statements.all(rows, [episode])).map(actionOf)
    },

    async context(episode) {
      const turns = await statements.all(contexts, [episode])
      const parts = turns.flatMap((row) => [
        int32Of(row.prompt, `action ${row.turn} of episode ${episode}: prompt`),
        int32Of(row.tokens, `action ${row.turn} of episode ${episode}: tokens`),
      ])
      const tokens = new Int32Array(parts.reduce((sum, part) => sum + part.length, 0))
      const borders: number[] = []
      let at = 0
      for (const [index, part] of parts.entries()) {
        tokens.set(part, at)
        at += part.length
        if (index % 2 === 0) borders.push(at)
      }
      return { turns: turns.length, tokens, borders }
    },
  }
}

/** The values of a row, in the order of its columns. */
function rowOf(action: StoredAction, took: TurnTime | undefined): readonly unknown[] {
  const { episode, turn, prompt, tokens, logprobs, version, spans, finish, message, problems, asked } = action
  return [
    episode,
    turn,
    blobOf(prompt),
    blobOf(tokens),
    blobOf(logprobs),
    version,
    finish,
    JSON.stringify(message),
    JSON.stringify(problems),
    took?.seconds ?? null,
    took?.attempt ?? null,
    spans === undefined ? null : writtenSpans(spans),
    asked?.branch ?? null,
    asked?.follows ?? null,
    asked?.form ?? null,
    asked?.request ?? null,
    asked?.answer ?? null,
  ]
}

/** @throws StorageFault `corrupt` */
export function actionOf(row: Selectable<ActionsTable>): StoredAction {
  const subject = `action ${row.turn} of episode ${row.episode}`
  const tokens = int32Of(row.tokens, `${subject}: tokens`)
  const logprobs = float32Of(row.logprobs, `${subject}: logprobs`)
  if (tokens.length !== logprobs.length)
    throw new StorageFault(
      'corrupt',
      `${subject} has ${logprobs.length} logprobs for ${tokens.length} tokens; it is not used`,
    )
  return {
    episode: row.episode as EpisodeId,
    turn: row.turn,
    prompt: int32Of(row.prompt, `${subject}: prompt`),
    tokens,
    logprobs,
    version: row.version,
    ...spansOf(row, tokens),
    finish: row.finish as StoredAction['finish'],
    message: jsonOf(row.message, `${subject}: message`),
    problems: jsonOf(row.problems, `${subject}: problems`),
    ...askedOf(row),
  }
}

function askedOf({
  branch,
  follows,
  form,
  request,
  answer,
}: Selectable<ActionsTable>): Pick<StoredAction, 'asked'> {
  if (branch === null) return {}
  return {
    asked: { branch, follows: follows ?? -1, form: form ?? '', request: request ?? '', answer: answer ?? '' },
  }
}

/** Where spans are, they are of all the action's tokens. @throws StorageFault `corrupt` */
function spansOf(row: Selectable<ActionsTable>, tokens: Int32Array): Pick<StoredAction, 'spans'> {
  if (row.spans === null) return {}
  const subject = `action ${row.turn} of episode ${row.episode}`
  const spans = readSpans(row.spans, subject)
  if (areSpansOf({ version: row.version, tokens }, spans)) return { spans }
  throw new StorageFault(
    'corrupt',
    `${subject} has spans of versions that do not cover its ${tokens.length} tokens; it is not used`,
  )
}

const schema = z.array(z.tuple([z.int().min(0), z.int().min(1)])).min(1)

/** How version spans are stored. */
export function writtenSpans(spans: readonly VersionSpan[]): string {
  return JSON.stringify(spans.map(({ version, tokens }) => [version, tokens]))
}

/** @throws StorageFault `corrupt` */
export function readSpans(text: string, subject: string): readonly VersionSpan[] {
  const parsed = schema.safeParse(jsonOf(text, `${subject}: spans`))
  if (parsed.success) return parsed.data.map(([version, tokens]) => ({ version, tokens }))
  throw new StorageFault('corrupt', `${subject}: the stored spans are invalid; it is not used`, {
    cause: parsed.error,
  })
}

/** The versions that sampled a stored action. @throws StorageFault `corrupt` */
export function versionsIn(row: {
  readonly episode: string
  readonly turn: number
  readonly version: number
  readonly spans: string | null
}): readonly number[] {
  if (row.spans === null) return [row.version]
  return readSpans(row.spans, `action ${row.turn} of episode ${row.episode}`).map(({ version }) => version)
}
