/**
 * A task whose environments answer late: a choice of two sides, 3 to 20 times, each after a log-normal while.
 *
 * Invariants
 * - How long an episode is and how late each answer comes follow from the instance, the turn and what was chosen so far, never
 *   from a clock or a process.
 * - Half of all choices at the end are right, whatever is learnt: so groups have a preference and episodes stay as they are.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Environment, EnvironmentDefinition, Task } from '../../envs/contract/environment.ts'
import { seedOf, uniforms } from '../../identity/identity.ts'
import { normalQuantile } from '../../learning/statistics/normal.ts'
import type { AssistantMessage } from '../../messages/message.ts'

const medianMs = 50
const p99Ms = 2000
const shortest = 3
const longest = 20

/** ln X is normal around ln 50, and 2 s lie at its 99th percentile. */
const sigma = Math.log(p99Ms / medianMs) / normalQuantile(0.99)

/** The mean of the log-normal: its median times e^(σ²/2). */
export const meanLatencyMs = medianMs * Math.exp(sigma ** 2 / 2)

const sides = ['left', 'right'] as const
const tools = [
  {
    type: 'function',
    function: {
      name: 'choose',
      description: 'Chooses a side.',
      parameters: { type: 'object', properties: { side: { type: 'string' } }, required: ['side'] },
    },
  },
] as const

/** One uniform in [0, 1) of what it is about. */
function draw(...about: readonly (string | number)[]): number {
  return uniforms(seedOf(0, ...about))()
}

/** @param isLate false: every answer comes at once */
export function latencyTask(isLate: boolean): EnvironmentDefinition {
  const task: Task = {
    splits: [{ name: 'train', size: Number.POSITIVE_INFINITY }],
    instanceAt: (split, index) => `${split}/${index}`,
    create: async () => createEnvironment(isLate),
    async demonstrate(instance) {
      const actions = Array.from({ length: longest }, (_, turn) =>
        choosing(sides[draw('expert', instance, turn) < 0.5 ? 0 : 1]),
      )
      return { instance, actions }
    },
    close: async () => undefined,
  }
  return {
    name: 'latency',
    summary: 'Choose sides, and wait.',
    source: 'none',
    licence: 'none',
    reward: '1 where the last side is the right one',
    replayable: true,
    replayableBecause: 'its state is what was chosen',
    turnLimit: longest,
    open: async () => task,
  }
}

function createEnvironment(isLate: boolean): Environment {
  let instance = ''
  let chosen: string[] = []
  return {
    tools,
    async reset(asked) {
      instance = asked
      chosen = []
      return { messages: [{ role: 'user', content: 'Choose a side.' }], info: {} }
    },
    async step(action) {
      const side = sideOf(action)
      chosen.push(side ?? '')
      const before = chosen.join()
      if (isLate)
        await sleep(medianMs * Math.exp(sigma * normalQuantile(within(draw('wait', instance, before)))))
      const turns =
        shortest +
        Math.floor(draw('turns', instance, chosen.slice(0, shortest).join()) * (longest - shortest + 1))
      const done = chosen.length >= turns
      const reward = done && draw('right', instance, before) < 0.5 ? 1 : 0
      const messages = [{ role: 'tool', name: 'choose', content: `${chosen.length} chosen` }] as const
      const invalid = side === undefined ? { invalid: true } : {}
      return {
        messages,
        reward,
        done,
        ...(done ? { outcome: 'completed' as const } : {}),
        ...invalid,
        info: {},
      }
    },
    close: async () => undefined,
  }
}

/** A quantile needs a probability that is neither 0 nor 1. */
function within(uniform: number): number {
  return Math.min(1 - 2 ** -32, Math.max(2 ** -32, uniform))
}

function choosing(side: string): AssistantMessage {
  return { role: 'assistant', content: '', tool_calls: [{ name: 'choose', arguments: { side } }] }
}

function sideOf({ tool_calls }: AssistantMessage): string | undefined {
  const side = tool_calls?.[0]?.arguments.side
  return typeof side === 'string' ? side : undefined
}
