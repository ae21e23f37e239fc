import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { answers, finishes, runs } from './definition.ts'
import type { Assignment, Submission } from './machine.ts'
import { createSession, promptOf, scriptLimit, shown } from './machine-session.ts'

/** An assignment that wants the answer 42, on a machine that echoes its scripts. */
function recorded(): { assignment: Assignment; log: string[] } {
  const log: string[] = []
  const assignment: Assignment = {
    description: 'What is six times seven?',
    async open() {
      log.push('open')
      return {
        run: async (script) => ({ output: script, exitCode: script.length }),
        grade: async (submission: Submission) => {
          log.push(submission.kind)
          return submission.kind === 'answer' && submission.answer === '42'
        },
        close: async () => {
          log.push('close')
        },
      }
    },
  }
  return { assignment, log }
}

describe('a session', () => {
  test('only a submission is graded and paid, once', async () => {
    const { assignment, log } = recorded()
    const session = createSession({ assignmentOf: () => assignment, prompt: 'short' })
    await session.reset('x')
    const [first, second] = [await session.step(runs('ls')), await session.step(answers('42'))]
    expect(first).toMatchObject({ reward: 0, done: false, info: { exitCode: 2 } })
    expect(second).toMatchObject({ reward: 1, done: true, outcome: 'completed', info: { exitCode: null } })
    const after = await session.step(answers('42'))
    expect(after).toMatchObject({ reward: 0, done: true, messages: [{ content: 'The task is done.' }] })
    expect(log).toEqual(['open', 'answer', 'close'])
    await session.close()
  })

  test('calls of one message are carried out in order, and what follows a submission is not', async () => {
    const { assignment, log } = recorded()
    const session = createSession({ assignmentOf: () => assignment, prompt: 'short' })
    await session.reset('x')
    const calls = [runs('pwd'), finishes('tired'), answers('42')].flatMap(
      ({ tool_calls }) => tool_calls ?? [],
    )
    const result = await session.step({ role: 'assistant', content: '', tool_calls: calls })
    expect(result.messages.map(({ content }) => content)).toEqual([
      'The output of the OS:\n\npwd',
      'Submitted.',
      'The task is done.',
    ])
    expect(result).toMatchObject({ reward: 0, done: true })
    expect(log).toEqual(['open', 'finish', 'close'])
  })

  test('a machine lives as long as its episode: reset and close end the one before', async () => {
    const { assignment, log } = recorded()
    const session = createSession({ assignmentOf: () => assignment, prompt: 'short' })
    await session.reset('x')
    await session.reset('x')
    await session.close()
    await session.close()
    expect(log).toEqual(['open', 'close', 'open', 'close'])
    await expect(session.step(runs('ls'))).rejects.toMatchObject({ kind: 'session_lost' })
  })

  test('a message of which nothing could be carried out is marked invalid; a script that fails is not', async () => {
    const { assignment } = recorded()
    const session = createSession({ assignmentOf: () => assignment, prompt: 'short' })
    await session.reset('x')
    expect(await session.step({ role: 'assistant', content: 'hm' })).toMatchObject({ invalid: true })
    expect((await session.step(runs('false'))).invalid).toBeUndefined()
    await session.close()
  })

  test('a script with a NUL or of unusual length is answered in words', async () => {
    const { assignment } = recorded()
    const session = createSession({ assignmentOf: () => assignment, prompt: 'short' })
    await session.reset('x')
    const replyTo = async (script: string) => (await session.step(runs(script))).messages[0]?.content
    expect(await replyTo('echo \0')).toMatch(/NUL/)
    expect(await replyTo('x'.repeat(scriptLimit))).toMatch(/^The output/)
    expect(await replyTo('x'.repeat(scriptLimit + 1))).toMatch(/too long/)
    await session.close()
  })

  test('the tools are those of AgentBench, each with one required string', () => {
    const { tools } = createSession({ assignmentOf: () => recorded().assignment, prompt: 'short' })
    expect(tools.map(({ function: { name, parameters } }) => [name, parameters.required])).toEqual([
      ['bash_action', ['script']],
      ['answer_action', ['answer']],
      ['finish_action', ['thought']],
    ])
  })
})

test('output is shown as AgentBench shows it: whole up to 800 characters, else its first 780 and a notice', () => {
  expect(shown('')).toBe('The output of the OS is empty.')
  expect(shown('x'.repeat(800))).toBe(`The output of the OS:\n\n${'x'.repeat(800)}`)
  expect(shown('x'.repeat(801))).toBe(
    `The output of the OS:\n\n${'x'.repeat(780)}\n[truncated because the output is too long]`,
  )
  // Two UTF-16 units each, one character.
  expect(shown('🫖'.repeat(800))).toBe(`The output of the OS:\n\n${'🫖'.repeat(800)}`)
})

test('the texts of a version never change: a change is a new version', () => {
  const texts = JSON.stringify([promptOf('short'), promptOf('full')])
  const digest = createHash('sha256').update(texts).digest('hex').slice(0, 16)
  expect({ version: 1, digest }).toEqual({ version: 1, digest: '86497dd75f550375' })
})
