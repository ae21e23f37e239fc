/**
 * Programs that act as agents, for tests: scripts of Node that send requests by `fetch`.
 *
 * Invariants
 * - They know what they are given: their environment, and nothing of Perdure.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineEnvironment } from '../../envs/external/define.ts'

/** An environment of one turn: it is won by an answer with an even number of characters. */
export const evenAnswer = defineEnvironment('even-answer', {
  turnLimit: 1,
  start: ({ index }) => ({ prompt: `Say something, number ${index}.` }),
  answer: (content) => ({ reply: 'done', reward: content.length % 2 === 0 ? 1 : 0, done: true }),
})

/** Functions that each program has. */
const prelude = `
import { appendFileSync, readFileSync, existsSync, writeFileSync } from 'node:fs'
const task = JSON.parse(readFileSync(process.env.PERDURE_TASK_FILE, 'utf8'))
const post = async (path, body, headers = {}) => fetch(path.startsWith('http') ? path : process.env.OPENAI_BASE_URL + path, {
  method: 'POST',
  headers: { 'content-type': 'application/json', authorization: 'Bearer ' + process.env.OPENAI_API_KEY, ...headers },
  body: JSON.stringify(body),
})
const say = async (messages, more = {}) => {
  const response = await post('/chat/completions', { model: 'any', messages, ...more })
  if (!response.ok) throw new Error(response.status + ' ' + (await response.text()))
  return (await response.json()).choices[0].message
}
const reward = (value) => appendFileSync(process.env.PERDURE_RESULT_FILE, JSON.stringify(value) + '\\n')
`

/** Writes a program. @param code of a module, with \`task\`, \`post\`, \`say\` and \`reward\` at hand @returns its command */
export function writeProgram(folder: string, name: string, code: string): string[] {
  const file = join(folder, `${name}.mjs`)
  writeFileSync(file, prelude + code)
  return [process.execPath, file]
}

/** Plays two turns, and rewards itself by the length of its answers. */
export const twoTurns = `
const messages = [{ role: 'user', content: task.prompt }]
const first = await say(messages)
messages.push(first, { role: 'user', content: 'And then?' })
const second = await say(messages)
// An answer of calls alone has no content.
const length = ({ content }) => content?.length ?? 0
reward({ reward: (length(first) + length(second)) % 2 })
`
