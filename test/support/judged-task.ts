/**
 * A task that asks both models: the user's words begin it and answer each word, and a judge pays for each word.
 *
 * Invariants
 * - The reward of a word is the judge's mark alone, a share.
 */
import { createHash } from 'node:crypto'
import { configSchema, type RunConfig } from '../../config/schema/schema.ts'
import type { EnvironmentDefinition } from '../../envs/contract/environment.ts'
import { defineEnvironment, z } from '../../index.ts'
import { tinyConfig } from './tiny-run.ts'

export interface JudgedOptions {
  /** Called when a word was judged and answered; what it throws is the environment's fault. */
  readonly afterWord?: (place: string) => void
}

const turns = 3

export function createJudgedTask({ afterWord }: JudgedOptions = {}): EnvironmentDefinition {
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
          state.words += 1
          const place = `word ${state.words} of ${state.instance} is ${word}`
          // Both at once, as an environment may ask.
          const [mark, reply] = await Promise.all([
            ask.judge({ messages: `mark ${place}`, read: markIn }),
            ask.user({ messages: `answer ${place}` }),
          ])
          afterWord?.(place)
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

/** A synchronous run of updates on eight episodes each, so that it is the same whatever fails. */
export function synchronousJudged(url: string, updates: number, models: object = {}): RunConfig {
  const model = { from: url, model: 'm', ...models }
  return judgedConfig(
    { judge: model, user: model },
    { rollout: { groupSize: 2, groupsPerUpdate: 4, maxStaleness: 0 }, training: { updates } },
  )
}
