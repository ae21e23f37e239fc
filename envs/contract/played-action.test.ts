// [PLAYED-ACTION-1]
import { expect, it } from 'vitest'
import { parseActionText } from '../../policy/calls/action-parsing.ts'
import type { Environment } from './environment.ts'
import { playAction } from './played-action.ts'

/** Plays an action. @returns the actions that the environment heard, and the answer to the agent */
async function heardOf(text: string) {
  const heard: unknown[] = []
  const environment: Pick<Environment, 'step'> = {
    step: async (action) => {
      heard.push(action)
      return { messages: [], reward: 0, done: false, info: {} }
    },
  }
  const { messages } = await playAction(environment, parseActionText(text, '\n'))
  return { heard, answer: messages[0]?.content }
}

it('an environment hears no thought', async () => {
  const call = '<tool_call>{"name": "look", "arguments": {}}</tool_call>'
  const { heard } = await heardOf(`<think>Final Answer: #1? ${call}</think>\n\nNot yet.\n${call}`)
  const looks = { name: 'look', arguments: {} }
  expect(heard).toEqual([{ role: 'assistant', content: 'Not yet.', tool_calls: [looks] }])
})

it('an action whose thought does not end is answered in the place of the environment', async () => {
  const { heard, answer } = await heardOf('<think>Final Answer: #1')
  expect(heard).toEqual([])
  expect(answer).toMatch(/^The thought does not end/)
})
