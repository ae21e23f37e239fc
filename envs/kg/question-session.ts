/**
 * A live question, answered through the tools.
 *
 * Invariants
 * - The same instance and the same actions give the same messages, rewards and endings.
 * - A call that could not be carried out makes no variable; where no call of a message was, it is invalid.
 * - Only an answer pays, once: reward 1 where its set equals the gold answers, 0 on every other step.
 * - A call that fails for lack of a server ends in a fault, never in an answer or a reward.
 * - The reward is 1 exactly when both sets have the same members, else 0.
 * - A set whose members are not all known is never right.
 */
import { type Answer, refused } from '../contract/agent-tool.ts'
import type { Environment, InstanceId } from '../contract/environment.ts'
import { ToolSession } from '../contract/tool-session.ts'
import { CostlyQuestion, type KnowledgeGraph, type Members } from './graph/graph.ts'
import type { Question } from './library.ts'
import { kgTools, quote, quoteLimit, toolNames } from './tools.ts'
import { Variables } from './variables.ts'
import { questionText, type Wording } from './wording.ts'

/** The parts of a session. */
export interface SessionOptions {
  readonly graph: KnowledgeGraph
  readonly openInstance: (instance: InstanceId) => Question
  readonly systemPrompt: string
  readonly wording: Wording
  /** Calls of one message that are carried out; the others are answered in words. */
  readonly callsPerMessage: number
}

/** A question being answered. */
interface Play {
  readonly question: Question
  readonly variables: Variables
}

// AgentBench's own pattern, and its text for a message without call or answer.
const finalAnswer = /(?:Find|Final) Answer: #(\d+)/

const noCall = 'No valid function calls found! Need to recheck the function calls.'
const over = 'The question has been answered.'

/** How good an answer is: equal sets pay, and F1 says how near it came. */
interface Grade {
  readonly reward: 0 | 1
  /** F1 = 2PR/(P + R) of precision P and recall R; 0 where nothing is common. */
  readonly f1: number
}

/** A session that answers one question after another. */
export function createSession(options: SessionOptions): Environment {
  const { graph, openInstance, systemPrompt, wording, callsPerMessage } = options
  return new ToolSession<Play>({
    tools: kgTools<Play>((call, { variables }) => variables.play(call)),
    unnamed: 'get_relations',
    nameLimit: quoteLimit,
    noSuchTool: (name) => `There is no function ${quote(name)}. Use ${toolNames.join(', ')}.`,
    // As in AgentBench, a message that calls tools does not answer the question.
    noCall: (said, play) => answerOf(said, play, graph),
    over,
    idle: 'no question is open here',
    callsPerMessage,
    open(instance) {
      const question = openInstance(instance)
      const { text, entities, kind } = question
      return {
        play: { question, variables: new Variables(graph, entities, wording) },
        system: systemPrompt,
        prompt: questionText(text, [...entities.keys()]),
        kind,
      }
    },
    facts: (_, results) => results.at(-1) ?? {},
    state: 'calls',
  })
}

async function answerOf(
  said: unknown,
  { question, variables }: Play,
  graph: KnowledgeGraph,
): Promise<Answer> {
  // Both as AgentBench reads it: what the agent only imagines to observe is no answer, and `\_` is `_`.
  const text = (typeof said === 'string' ? said : '').split('Observation:', 1)[0] ?? ''
  const digits = finalAnswer.exec(text)?.[1]
  if (digits === undefined) return refused(noCall)
  const variable = variables.at(Number(digits))
  if (variable === undefined) return refused(variables.missing(`#${digits.slice(0, 20)}`))
  try {
    const members = await graph.members(variable.set)
    const { reward, f1 } = grade(members, question.answers)
    const info = { variable: `#${Number(digits)}`, size: members.values.size, f1 }
    return { reply: over, reward, done: true, info }
  } catch (cause) {
    if (cause instanceof CostlyQuestion) return refused(cause.message)
    throw cause
  }
}

/** Grades members against the right answers. @example 2 of 4 right of 3: P 1/2, R 2/3, F1 4/7 */
export function grade({ values, complete }: Members, answers: ReadonlySet<string>): Grade {
  const common = [...values].filter((value) => answers.has(value)).length
  const equal = complete && common === values.size && common === answers.size
  // 2PR/(P + R) with P = c/v and R = c/a is 2c/(v + a).
  return { reward: equal ? 1 : 0, f1: common === 0 ? 0 : (2 * common) / (values.size + answers.size) }
}
