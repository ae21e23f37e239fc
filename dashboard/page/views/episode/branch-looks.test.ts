import { expect, test } from 'vitest'
import type { BranchesAnswer } from '../../../contract/trajectory.ts'
import { pauseBeforeLook } from './branch-looks.ts'

const asked = (...states: readonly ('playing' | 'failed')[]): BranchesAnswer => ({
  branches: [],
  asked: states.map((state, turn) => ({ turn, samples: 1, state })),
})

test('as long as a branch is being played the page looks again, because its end is no news', () => {
  expect(pauseBeforeLook(asked('failed', 'playing'))).toBeGreaterThan(0)
  expect(pauseBeforeLook(asked('failed'))).toBeUndefined()
  expect(pauseBeforeLook(asked())).toBeUndefined()
  expect(pauseBeforeLook(undefined)).toBeUndefined()
})
