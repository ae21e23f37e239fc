/** Real programs, answered by a policy that is sampled: killed at each of their turns. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { EnvironmentDefinition } from '../../envs/contract/environment.ts'
import { letters } from '../../examples/agent/index.ts'
import { guessNumber } from '../../examples/guess-number/index.ts'
import { evenAnswer, twoTurns, writeProgram } from '../../test/support/agent-programs.ts'
import { checkEnvironment } from './environment-check.ts'

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-killed-agent-'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function checked(code: string | readonly string[], definition: EnvironmentDefinition = evenAnswer) {
  const command = typeof code === 'string' ? writeProgram(folder, 'agent', code) : code
  const checks = await checkEnvironment({
    open: () => definition.open({}),
    agent: { definition, command, reward: typeof code === 'string' ? 'file' : 'grader' },
    only: 'its agent',
  })
  return checks.map(({ item, ok, detail }) => `${ok ? 'ok' : 'FAILED'} ${item}: ${detail}`)
}

// [KILLED-AGENT-1]
it('a program that repeats its requests continues wherever it is killed', async () => {
  expect(await checked(twoTurns)).toEqual([
    expect.stringMatching(
      /^ok its agent plays to an end: train\/0: 2 turns in 1 branches, completed, reward [01]$/,
    ),
    'ok its agent, killed at turn 0, continues: 1 turns given again, 1 sampled, as without the kill',
    'ok its agent, killed at turn 1, continues: 2 turns given again, 0 sampled, as without the kill',
  ])
})

it('a program whose words differ from one start to the next is found out, with the turn', async () => {
  const changing = "const first = await say([{ role: 'user', content: task.prompt }])"
  const code = `${changing}
    await say([{ role: 'user', content: task.prompt }, first, { role: 'user', content: 'I am ' + process.pid }])
    reward({ reward: 1 })`
  expect(await checked(code)).toEqual([
    expect.stringMatching(/^ok its agent plays to an end/),
    expect.stringMatching(
      /^ok its agent, killed at turn 0, continues: .*, then others than without the kill$/,
    ),
    expect.stringMatching(
      /^FAILED its agent, killed at turn 1, continues: the agent diverged at turn 1 of branch 0 .*"I am \d+", now .*"I am \d+"$/,
    ),
  ])
})

it('a program that cannot play, or never asks, is one item', async () => {
  expect(await checked('reward({ reward: 1 })')).toEqual([
    'FAILED its agent plays to an end: the agent ended before it asked the policy once',
  ])
  expect(await checked('', guessNumber)).toEqual([
    expect.stringMatching(/^FAILED its agent can be started: .*`tasks\.0\.agent` .* steps by itself/s),
  ])
})

const python = process.env.PERDURE_CLIENTS_PYTHON ?? 'python3'
const hasPackage = spawnSync(python, ['-c', 'import openai'], { stdio: 'ignore' }).status === 0

it.each([['agent.py', 'python3'], ...(hasPackage ? [['openai_agent.py', python]] : [])])(
  'the example %s continues wherever it is killed',
  async (file = '', interpreter = '') => {
    const command = [interpreter, fileURLToPath(new URL(`../../examples/agent/${file}`, import.meta.url))]
    const checks = await checked(command, letters)
    expect(checks).toHaveLength(3)
    expect(checks.filter((check) => !check.startsWith('ok '))).toEqual([])
    expect(checks.slice(1).every((check) => check.endsWith('as without the kill'))).toBe(true)
  },
)
