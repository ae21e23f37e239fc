import { expect, it } from 'vitest'
import { tinyExperiment } from '../../test/support/tiny-experiment.ts'
import { statementChanges } from './experiments.ts'

it('a statement of an earlier build states the same, unless an arm used a setting that was removed', () => {
  const statement = tinyExperiment('several')
  const now = { ...statement, source: { ...statement.source, sha256: '1'.repeat(64) } }
  const before = (wonAgain: number) => ({
    ...statement,
    arms: statement.arms.map(({ config, ...arm }) => {
      return { ...arm, config: { ...config, rollout: { ...config.rollout, wonAgain } } }
    }),
  })
  expect(statementChanges(before(1), now)).toEqual([])
  expect(statementChanges(before(0.25), now)).toEqual(statement.arms.map(({ arm }) => `arm ${arm}`))
})
