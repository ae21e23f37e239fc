/**
 * Counting: say the next number.
 *
 * Invariants
 * - The instance is the number to start from.
 */
import type { Environment, EnvironmentDefinition, StepResult } from 'perdure'

export const counting: EnvironmentDefinition = {
  name: 'counting',
  summary: 'Say the number that comes next.',
  source: 'made here',
  licence: 'Apache-2.0',
  reward: '1 for the right number, else 0',
  replayable: true,
  replayableBecause: 'there is nothing random in it',
  turnLimit: 3,
  open: async () => ({
    splits: [
      { name: 'train', size: 1000 },
      { name: 'test', size: 1000 },
    ],
    instanceAt: (split, index) => String((split === 'test' ? 1000 : 0) + (index % 1000)),
    create: async () => createSession(),
    close: async () => undefined,
  }),
}

function createSession(): Environment {
  let start = 0
  return {
    tools: [
      {
        type: 'function',
        function: {
          name: 'say',
          description: 'Says a number.',
          parameters: { type: 'object', properties: { number: { type: 'integer' } }, required: ['number'] },
        },
      },
    ],
    async reset(instance) {
      start = Number(instance)
      return { messages: [{ role: 'user', content: `What comes after ${start}?` }], info: {} }
    },
    async step(action): Promise<StepResult> {
      const said = action.tool_calls?.[0]?.arguments.number
      if (typeof said !== 'number')
        return {
          messages: [{ role: 'tool', name: 'say', content: 'say needs an integer `number`.' }],
          info: {},
          reward: 0,
          done: false,
        }
      const reward = said === start + 1 ? 1 : 0
      return { messages: [], info: {}, reward, done: true, outcome: 'completed' }
    },
    close: async () => undefined,
  }
}
