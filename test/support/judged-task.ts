/**
 * A task that asks both models: the user's words begin it and answer each word, and a judge pays for each word.
 *
 * Invariants
 * - The reward of a word is the judge's mark alone, a share.
 */
import { createHash } from 'node:crypto'
import { configSchema, type RunConfig } from '../../config/schema/schema.ts'
import type { EnvironmentDefinition } from '../../envs/contract/environment.ts'
import type { Ask } from '../../envs/contract/question.ts'
import { defineEnvironment, z } from '../../index.ts'
import { tinyConfig } from './tiny-run.ts'

export interface JudgedOptions {
  /** Called before a word is judged; what it throws is the environment's fault. */
  readonly beforeWord?: (instance: string, word: string, ask: Ask) => void | Promise<void>
  /** Goes around the judge, as the code of an environment may. */
  readonly judging?: (judge: () => Promise<number>) => Promise<number>
}

const turns = 3

export function createJudgedTask({
  beforeWord = () => undefined,
  judging = (judge) => judge(),
}: JudgedOptions = {}): EnvironmentDefinition {
  return defineEnvironment('judged', {
    asks: ['judge', 'user'],
    turnLimit: 6,
    start: async ({ instance, ask }) => ({
      prompt: await ask.user({ messages: `begin ${instance}` }),
      instance,
      words: 0,
    }),
    tools: (tool) => ({
      say: tool({
        description: 'Says a word.',
        parameters: z.object({ word: z.string() }),
        async run({ word }, state, ask) {
          await beforeWord(state.instance, word, ask)
          state.words += 1
          const place = `word ${state.words} of ${state.instance} is ${word}`
          // Both at once, as an environment may ask.
          const [mark, reply] = await Promise.all([
            judging(() => ask.judge({ messages: `mark ${place}`, read: markIn })),
            ask.user({ messages: `answer ${place}` }),
          ])
          return { reply, reward: mark, done: state.words === turns }
        },
      }),
    }),
  })
}

/** @throws RangeError a text that is no share */
function markIn(text: string): number {
  const mark = /^\d(\.\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (!(mark >= 0 && mark <= 1)) throw new RangeError('a mark is a number from 0 to 1')
  return mark
}

/** The good answer to a question of the task: it follows from the question alone. */
export function goodAnswer(question: string): string {
  const digit = (createHash('sha256').update(question).digest()[0] ?? 0) % 10
  return question.startsWith('mark') ? `0.${digit}` : `heard: ${question}`
}

/** A tiny run of the task with these models. */
export function judgedConfig(
  models: { readonly judge: object; readonly user: object },
  sections: Parameters<typeof tinyConfig>[0] = {},
): RunConfig {
  const config = tinyConfig(sections, 'judged')
  return configSchema.parse({ ...config, tasks: [{ ...config.tasks[0], ...models }] })
}
