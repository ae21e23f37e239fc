/**
 * Trajectory row: one episode as exported files hold it.
 *
 * Invariants
 * - Every row has the same columns and every message the same keys, so that readers which infer types
 *   from the first rows are right about all of them.
 * - A tool call's arguments are JSON text: their keys differ from tool to tool, a column's type may not.
 */
import type { SchemaElement } from 'hyparquet-writer'
import { jsonLine } from '../../machine/files/shown-text.ts'
import type { Message } from '../../messages/message.ts'
import type { StoredAnswer } from './answers.ts'
import type { LearntEpisode } from './learnt-episode.ts'
import type { Trajectory } from './trajectory.ts'

export interface MessageRow {
  readonly role: string
  readonly content: string
  /** The tool that answers; null in other messages. */
  readonly name: string | null
  readonly tool_calls: readonly {
    readonly type: 'function'
    readonly function: { readonly name: string; readonly arguments: string }
  }[]
}

/** The answer of a model; its turn is that of the observation that follows from it. */
interface AnswerRow {
  readonly turn: number
  readonly role: string
  readonly model: string
  readonly question: string
  readonly answer: string
}

export interface TrajectoryRow {
  readonly episode: string
  readonly run: string
  /** Group or evaluation that the episode belongs to. */
  readonly parent: string
  readonly sample: number
  readonly attempt: number
  readonly task: string
  readonly instance: string
  /** Step of the update that learned from it. */
  readonly update: number | null
  readonly outcome: string
  readonly reward: number | null
  readonly turns: number
  readonly action_tokens: number
  /** Milliseconds since the epoch. */
  readonly created: number
  readonly ended: number
  readonly messages: readonly MessageRow[]
  /** Answers of models to the environment's questions, in the order of turns. */
  readonly answers: readonly AnswerRow[]
  /** [time], as are the next three. */
  readonly tokens: readonly number[]
  readonly loss_mask: readonly number[]
  readonly logprobs: readonly number[]
  readonly versions: readonly number[]
  /** 0 where the mask is 0; empty where no update has learnt from the episode, or the update left no record. */
  readonly advantages: readonly number[]
  /** `update`: they are in the record of the update. `not kept`: the update left none. Null where no update has learnt from the episode. */
  readonly advantages_from: 'update' | 'not kept' | null
}

/** The record of an episode in its update; `not kept` where the update left none. */
export type Learnt = Pick<LearntEpisode, 'advantages'> | 'not kept'

/** @param update step of the update that consumed the episode's group, null for none */
export function trajectoryRow(
  trajectory: Trajectory,
  update: number | null,
  learnt?: Learnt,
  answers: readonly StoredAnswer[] = [],
): TrajectoryRow {
  const { episode, messages, tokens, lossMask, logprobs, versions } = trajectory
  return {
    episode: episode.id,
    run: episode.run,
    parent: episode.parent,
    sample: episode.sample,
    attempt: episode.attempt,
    task: episode.task,
    instance: episode.instance,
    update,
    outcome: episode.seal.outcome,
    reward: episode.seal.reward,
    turns: episode.seal.turns,
    action_tokens: episode.seal.actionTokens,
    created: episode.created,
    ended: episode.seal.ended,
    messages: messages.map(messageRow),
    answers: answers.map(answerRow),
    tokens: Array.from(tokens),
    loss_mask: Array.from(lossMask),
    logprobs: Array.from(logprobs),
    versions: Array.from(versions),
    advantages: learnt === undefined || learnt === 'not kept' ? [] : ofTokens(trajectory, learnt.advantages),
    advantages_from: learnt === undefined || learnt === 'not kept' ? (learnt ?? null) : 'update',
  }
}

/** [time] the advantages of turns and tokens, at the tokens that were sampled in them. */
function ofTokens({ tokens, turns }: Trajectory, advantages: LearntEpisode['advantages']): number[] {
  const all = Array.from(tokens, () => 0)
  for (const [turn, { begin, end }] of turns.entries()) {
    const own = advantages[turn] ?? 0
    if (typeof own === 'number') all.fill(own, begin, end)
    else all.splice(begin, own.length, ...own)
  }
  return all
}

function answerRow({ turn, role, model, messages, text: answer }: StoredAnswer): AnswerRow {
  return { turn, role, model, question: messages.at(-1)?.content ?? '', answer }
}

function messageRow(message: Message): MessageRow {
  const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : []
  return {
    role: message.role,
    content: message.content,
    name: message.role === 'tool' ? message.name : null,
    tool_calls: calls.map((call) => ({
      type: 'function',
      function: { name: call.name, arguments: jsonLine(call.arguments) },
    })),
  }
}

/** The columns in Parquet's terms: lists in the three-level form that all readers know. */
export const trajectorySchema: readonly SchemaElement[] = [
  { name: 'root', num_children: 22 },
  text('episode'),
  text('run'),
  text('parent'),
  int32('sample'),
  int32('attempt'),
  text('task'),
  text('instance'),
  { name: 'update', type: 'INT32', repetition_type: 'OPTIONAL' },
  text('outcome'),
  { name: 'reward', type: 'DOUBLE', repetition_type: 'OPTIONAL' },
  int32('turns'),
  int32('action_tokens'),
  timestamp('created'),
  timestamp('ended'),
  ...list('messages', [
    struct('element', 4),
    text('role'),
    text('content'),
    { ...text('name'), repetition_type: 'OPTIONAL' },
    ...list('tool_calls', [
      struct('element', 2),
      text('type'),
      struct('function', 2),
      text('name'),
      text('arguments'),
    ]),
  ]),
  ...list('answers', [
    struct('element', 5),
    int32('turn'),
    text('role'),
    text('model'),
    text('question'),
    text('answer'),
  ]),
  ...list('tokens', [int32('element')]),
  ...list('loss_mask', [int32('element')]),
  ...list('logprobs', [{ name: 'element', type: 'FLOAT', repetition_type: 'REQUIRED' }]),
  ...list('versions', [int32('element')]),
  ...list('advantages', [{ name: 'element', type: 'FLOAT', repetition_type: 'REQUIRED' }]),
  { ...text('advantages_from'), repetition_type: 'OPTIONAL' },
]

/** Column names in the order of the schema. */
export const trajectoryColumns = [
  'episode',
  'run',
  'parent',
  'sample',
  'attempt',
  'task',
  'instance',
  'update',
  'outcome',
  'reward',
  'turns',
  'action_tokens',
  'created',
  'ended',
  'messages',
  'answers',
  'tokens',
  'loss_mask',
  'logprobs',
  'versions',
  'advantages',
  'advantages_from',
] as const satisfies readonly (keyof TrajectoryRow)[]

function text(name: string): SchemaElement {
  return { name, type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'REQUIRED' }
}

function int32(name: string): SchemaElement {
  return { name, type: 'INT32', repetition_type: 'REQUIRED' }
}

function timestamp(name: string): SchemaElement {
  return { name, type: 'INT64', converted_type: 'TIMESTAMP_MILLIS', repetition_type: 'REQUIRED' }
}

function struct(name: string, children: number): SchemaElement {
  return { name, num_children: children, repetition_type: 'REQUIRED' }
}

function list(name: string, element: readonly SchemaElement[]): SchemaElement[] {
  return [
    { name, converted_type: 'LIST', num_children: 1, repetition_type: 'REQUIRED' },
    { name: 'list', num_children: 1, repetition_type: 'REPEATED' },
    ...element,
  ]
}
