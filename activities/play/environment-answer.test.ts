import { asyncLocalStorage, type Context } from '@temporalio/activity'
import { expect, it } from 'vitest'
import type { Environment } from '../../envs/contract/environment.ts'
import { parseActionText } from '../../policy/calls/action-parsing.ts'
import type { StoredAction } from '../../storage/trajectories/actions.ts'
import { playAction } from './environment-answer.ts'

/** Plays an action. @returns the actions that the environment heard, and the answer to the agent */
async function heardOf(text: string) {
  const heard: unknown[] = []
  const environment = {
    step: async (action) => {
      heard.push(action)
      return { messages: [], reward: 0, done: false, info: {} }
    },
  } as Partial<Environment> as Environment
  const session = { environment, turn: 0, toldTools: '' }
  const action = parseActionText(text, '\n') as Partial<StoredAction> as StoredAction
  const context = { cancellationSignal: new AbortController().signal } as Context
  const { messages } = await asyncLocalStorage.run(context, () => playAction(session, action))
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
