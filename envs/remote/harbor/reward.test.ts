import { expect, test } from 'vitest'
import { rewardOfJson, rewardOfText } from './reward.ts'
import { shown } from './session.ts'

// [HARBOR-REWARD-2]
test('a number is kept as it is', () => {
  expect(['1', ' 0.25\n', '-3', '1e-3', '.5'].map((text) => rewardOfText(text).reward)).toEqual([
    1, 0.25, -3, 0.001, 0.5,
  ])
  expect(rewardOfJson('0.75', 'reward').reward).toBe(0.75)
  expect(rewardOfJson('{"reward": 0.5, "files": 2}', 'reward')).toEqual({
    reward: 0.5,
    rewards: { reward: 0.5, files: 2 },
  })
  expect(rewardOfJson('{"files": 2}', 'reward').reward).toBe(2)
  expect(rewardOfJson('{"a": 1, "b": 2}', 'b').reward).toBe(2)
})

// [HARBOR-REWARD-1]
test.each(['', 'NaN', 'nan', 'inf', '1e999', '0x1', '1 2', 'yes', 'true'])(
  'the text "%s" is no reward',
  (text) => {
    expect(() => rewardOfText(text)).toThrow(/expected a number/)
  },
)

// [HARBOR-REWARD-1]
test.each([
  ...['', '{', 'NaN', '{"reward": NaN}', '{"reward": 1e999}', '{"reward": "1"}', '{"reward": true}'],
  ...['[1]', 'null', '{}', '{"a": 1, "b": 2}'],
])('the JSON %s is no reward', (text) => {
  expect(() => rewardOfJson(text, 'reward')).toThrow(/reward\.json/)
})

test('a long output is shown by its beginning and its end', () => {
  const output = `${'a'.repeat(150)}${'b'.repeat(150)}`
  expect(shown({ output, exitCode: 0 }, 200)).toBe(
    `${'a'.repeat(100)}\n[100 letters are left out]\n${'b'.repeat(100)}`,
  )
  expect(shown({ output: 'no\n', exitCode: 2 }, 200)).toBe('no\n[exit status 2]')
  expect(shown({ output: '', exitCode: 0 }, 200)).toBe('[no output]')
})
