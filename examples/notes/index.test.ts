/** Notes on the real filesystem server; `npx perdure env test` runs it. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { AssistantMessage, JsonObject } from 'perdure'
import { notes } from './index.ts'

const task = await notes.open({})
after(() => task.close())

const call = (name: string, given: JsonObject): AssistantMessage => ({
  role: 'assistant',
  content: '',
  tool_calls: [{ name, arguments: given }],
})
const words: AssistantMessage = { role: 'assistant', content: 'Done.' }

/** Plays actions on the first instance. @returns what is paid in all, and the last answer */
async function play(...actions: readonly AssistantMessage[]) {
  const session = await task.create()
  let paid = 0
  let answer = ''
  await session.reset('train/0')
  for (const action of actions) {
    const { reward, messages } = await session.step(action)
    paid += reward
    answer = messages.map(({ content }) => content).join('\n')
  }
  await session.close()
  return { paid, answer }
}

test('the expert reads until it has found the note, and moves it', async () => {
  for (const index of [0, 1, 2]) {
    const shown = await task.demonstrate?.(`train/${index}`)
    assert.equal(shown?.reward, 1)
    assert.equal(shown?.actions.at(-2)?.tool_calls?.[0]?.name, 'move_file')
  }
})

test('doing nothing, moving every note and a wrong path earn nothing', async () => {
  assert.equal((await play(words)).paid, 0)
  const all = ['0.txt', '1.txt', '2.txt'].map((source) =>
    call('move_file', { source, destination: source === '0.txt' ? 'done.txt' : `x${source}` }),
  )
  assert.equal((await play(...all, words)).paid, 0)
  const outside = await play(call('read_text_file', { path: '../../../etc/passwd' }))
  assert.match(outside.answer, /Access denied/)
})
