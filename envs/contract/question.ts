/**
 * Questions of an environment to a model: to a judge, whose answer decides a reward, or to a user, whose answer the agent reads.
 *
 * Invariants
 * - [ASK-1] An answer that cannot be read is refused as `bad_answer`, with its text; it never becomes a value.
 * - [ASK-2] Where no model is asked a question has the answer `otherwise`, or is refused by name.
 */
import { createHash } from 'node:crypto'
import type { z } from 'zod'
import { Fault } from '../../faults/fault.ts'
import { reasonOf } from '../../faults/reason.ts'

/** The models that an environment may ask. */
export const askedRoles = ['judge', 'user'] as const
export type AskedRole = (typeof askedRoles)[number]

export interface QuestionMessage {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string
}

/** A question, and how its answer is read. */
export interface Question<Value> {
  /** A text alone is one message of the user. */
  readonly messages: string | readonly QuestionMessage[]
  /**
   * Reads the answer's text, and throws where it has not the form that was asked for. A schema reads the text as JSON. Without it the
   * text is the value. An answer that calls a tool has the text `{"name": …, "arguments": {…}}`.
   */
  readonly read?: ((text: string) => Value) | z.ZodType<Value>
  /** The value where no model is asked: in demonstrations, and in checks before a run. */
  readonly otherwise?: Value
}

/**
 * Asks the models that the configuration names. A question whose model fails throws an `AskedModelFault`, and the episode has no reward,
 * whatever the environment does with the fault.
 */
export type Ask = {
  readonly [Role in AskedRole]: <Value = string>(question: Question<Value>) => Promise<Value>
}

/**
 * A model could not be asked, or what it said is no answer; neither agent nor environment is to blame, and no reward follows. `timed_out`: no answer in
 * time. `unreachable`: nothing answers there now. `refused`: it will not answer this question. `bad_protocol`: what answers there is no
 * chat endpoint. `bad_answer`: the answer cannot be read. `too_long`: the question does not fit. `other_question`: another question was
 * asked at this place before. `not_configured`: there is no such model here. `not_in_call`: a question outside of `reset` and `step`.
 */
export class AskedModelFault extends Fault<
  | 'timed_out'
  | 'unreachable'
  | 'refused'
  | 'bad_protocol'
  | 'bad_answer'
  | 'too_long'
  | 'other_question'
  | 'not_configured'
  | 'not_in_call'
> {
  override readonly name = 'AskedModelFault'
  protected static override readonly permanentKinds: readonly AskedModelFault['kind'][] = [
    'refused',
    'bad_answer',
    'too_long',
    'other_question',
    'not_configured',
    'not_in_call',
  ]
}

/** The messages of a question. */
export function messagesOf({ messages }: Pick<Question<unknown>, 'messages'>): readonly QuestionMessage[] {
  return typeof messages === 'string' ? [{ role: 'user', content: messages }] : messages
}

/** Names a question by what it says. */
export function questionHash(messages: readonly QuestionMessage[]): string {
  const said = messages.map(({ role, content }) => [role, content])
  return createHash('sha256').update(JSON.stringify(said)).digest('hex')
}

/** Letters of an answer in a message. */
const shownLetters = 200

/** The value of an answer. @throws AskedModelFault `bad_answer` */
export function readAnswer<Value>({ read }: Pick<Question<Value>, 'read'>, text: string): Value {
  try {
    if (read === undefined) return text as Value
    return typeof read === 'function' ? read(text) : read.parse(JSON.parse(text))
  } catch (cause) {
    const shown = text.length > shownLetters ? `${text.slice(0, shownLetters)}…` : text
    const why = reasonOf(cause).replaceAll(/\s+/g, ' ').slice(0, shownLetters)
    throw new AskedModelFault('bad_answer', `the answer ${JSON.stringify(shown)} cannot be read: ${why}`, {
      cause,
    })
  }
}

/** Asks no model. */
export const unasked: Ask = { judge: withoutModel('judge'), user: withoutModel('user') }

function withoutModel(role: AskedRole) {
  return async <Value = string>(question: Question<Value>): Promise<Value> => {
    if ('otherwise' in question) return question.otherwise as Value
    throw new AskedModelFault(
      'not_configured',
      `no ${role} is asked here: give the question an answer for demonstrations and checks (\`otherwise\`), or play it in a run that configures one`,
    )
  }
}

/**
 * Answers of functions in place of models, for the tests of an environment.
 * @example await task.create(answeredBy({ judge: () => 'yes' }))
 */
export function answeredBy(
  answers: Readonly<
    Partial<Record<AskedRole, (messages: readonly QuestionMessage[]) => string | Promise<string>>>
  >,
): Ask {
  const by = (role: AskedRole): Ask[AskedRole] => {
    const answer = answers[role]
    if (answer === undefined) return unasked[role]
    return async (question) => readAnswer(question, await answer(messagesOf(question)))
  }
  return { judge: by('judge'), user: by('user') }
}
