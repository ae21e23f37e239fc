import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { rewardInFile } from './agent-reward.ts'

const folder = mkdtempSync(join(tmpdir(), 'perdure-reward-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function fileWith(text: string): string {
  const file = join(folder, 'result')
  writeFileSync(file, text)
  return file
}

it('the last line of the file is the reward, with an outcome where it names one', async () => {
  expect(await rewardInFile(fileWith('{"reward": 0}\n{"reward": 0.5}\n'))).toEqual({
    reward: 0.5,
    outcome: 'completed',
  })
  const long = `${'x'.repeat(100_000)}\n{"reward": 1, "outcome": "task_limit"}`
  expect(await rewardInFile(fileWith(long))).toEqual({ reward: 1, outcome: 'task_limit' })
})

// [AGENT-REWARD-1]
it.each([
  ['no file', undefined, 'no_reward', /ended without a reward/],
  ['an empty file', '', 'no_reward', /PERDURE_RESULT_FILE/],
  ['no JSON', 'great', 'bad_reward', /has no JSON/],
  ['NaN', '{"reward": NaN}', 'bad_reward', /has no JSON/],
  ['a text', '{"reward": "1"}', 'bad_reward', /a number from -1000000 to 1000000/],
  ['a reward beyond the bounds', '{"reward": 1e7}', 'bad_reward', /10000000/],
  ['an outcome that carries no reward', '{"reward": 1, "outcome": "cancelled"}', 'bad_reward', /cancelled/],
])('%s is a fault, and no reward of 0', async (_, text, kind, message) => {
  const file = text === undefined ? join(folder, 'none') : fileWith(text)
  await expect(rewardInFile(file)).rejects.toMatchObject({ kind, message: expect.stringMatching(message) })
})
