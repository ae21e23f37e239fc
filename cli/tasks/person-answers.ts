/**
 * A person in place of the models that an environment asks, while it is played in a terminal.
 *
 * Invariants
 * - An answer that cannot be read is asked for again, with the reason.
 * - Questions that an environment asks at once are asked one after the other.
 */
import {
  type Ask,
  AskedModelFault,
  type AskedRole,
  messagesOf,
  type Question,
  readAnswer,
} from '../../envs/contract/question.ts'
import { reasonOf } from '../../faults/reason.ts'

/** How a terminal speaks with the person. */
interface Conversation {
  say(text: string): void
  /** The next line; undefined where there is none. */
  line(): Promise<string | undefined>
}

/** Asks the person. */
export function askingPerson({ say, line }: Conversation): Ask {
  async function answerTo<Value>(role: AskedRole, question: Question<Value>): Promise<Value> {
    say(`\n${role}, answer in place of the model:`)
    for (const { content } of messagesOf(question)) say(content)
    for (;;) {
      const said = await line()
      if (said === undefined || said === 'quit')
        throw new AskedModelFault('refused', `no one answers in place of the ${role}`)
      try {
        return readAnswer(question, said)
      } catch (fault) {
        say(reasonOf(fault))
      }
    }
  }

  let last: Promise<unknown> = Promise.resolve()
  const by =
    (role: AskedRole): Ask[AskedRole] =>
    (question) => {
      const ask = () => answerTo(role, question)
      const answering = last.then(ask, ask)
      last = answering
      return answering
    }
  return { judge: by('judge'), user: by('user') }
}
