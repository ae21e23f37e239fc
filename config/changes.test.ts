/** Which keys of a run's configuration may change after it was started. */
import { describe, expect, it } from 'vitest'
import { changesBetween, type RunProgressPoint, refusedChanges } from './changes.ts'
import { resolveConfig, withOverrides } from './files/loader.ts'
import { configFields } from './schema/fields.ts'

const config = resolveConfig({ tasks: [{ task: 'alfworld' }], training: { updates: 20 } })
const begun: RunProgressPoint = { isWarm: true, step: 5, isDone: false }
const failedAtOnce: RunProgressPoint = { isWarm: false, step: 0, isDone: false }
const done: RunProgressPoint = { ...begun, step: 20, isDone: true }

const refusedOf = (set: readonly string[], now: RunProgressPoint) =>
  refusedChanges(changesBetween(config, withOverrides(config, set)), now).map(({ key }) => key)

describe('the changes between two configurations', () => {
  it('are named by key, with what was and what will be', () => {
    const after = withOverrides(config, ['training.updates=40', 'tasks.0.settings.difficulty=easy'])
    expect(changesBetween(config, after)).toEqual([
      { key: 'tasks.0.settings.difficulty', from: null, to: 'easy' },
      { key: 'training.updates', from: 20, to: 40 },
    ])
    expect(changesBetween(config, withOverrides(config, ['training.updates=20']))).toEqual([])
  })
})

describe('a change of a run that is stopped', () => {
  it('is good for what lies ahead, and refused for what was laid down', () => {
    const good = [
      'training.updates=40',
      'learning.learningRate=0.001',
      'rollout.groupSize=4',
      'tasks.0.turnLimit=9',
    ]
    expect(refusedOf([...good, 'evaluation.every=3', 'policy.threads=1'], begun)).toEqual([])
    const bad = ['seed=2', 'policy.layers=2', 'tasks.0.split=test', 'warmStart.demonstrations=0']
    expect(refusedOf(bad, begun).sort()).toEqual(
      ['policy.layers', 'seed', 'tasks.0.split', 'warmStart.demonstrations'].sort(),
    )
    expect(refusedOf(['training.updates=4'], begun)).toEqual(['training.updates'])
    expect(refusedOf(['training.updates=5'], begun)).toEqual([])
  })

  it('may move or relieve a model that is asked, and not make it another one', () => {
    const judged = resolveConfig({
      tasks: [{ task: 'alfworld', judge: { from: 'http://a/v1', model: 'm' } }],
      training: { updates: 20 },
    })
    const refusedHere = (set: readonly string[]) =>
      refusedChanges(changesBetween(judged, withOverrides(judged, set)), begun).map(({ key }) => key)
    expect(refusedHere(['tasks.0.judge.from=http://b/v1', 'tasks.0.judge.tries=9'])).toEqual([])
    expect(refusedHere(['tasks.0.judge.model=other'])).toEqual(['tasks.0.judge.model'])
  })

  it('may be one of the warm start and the policy while there are none', () => {
    expect(refusedOf(['warmStart.demonstrations=0', 'policy.layers=2'], failedAtOnce)).toEqual([])
    expect(refusedOf(['seed=2'], failedAtOnce)).toEqual(['seed'])
    expect(refusedOf(['warmStart.epochs=9', 'policy.layers=2'], begun)).toHaveLength(2)
  })

  it('of a run that is done needs more updates', () => {
    expect(refusedOf(['learning.learningRate=0.001'], done)).toEqual(['learning.learningRate'])
    expect(refusedOf(['learning.learningRate=0.001', 'training.updates=30'], done)).toEqual([])
    expect(refusedOf(['training.updates=20', 'learning.learningRate=0.001'], done)).toEqual([
      'learning.learningRate',
    ])
  })

  it('is refused with a reason that says what to do', () => {
    const [refused] = refusedChanges(changesBetween(config, withOverrides(config, ['seed=2'])), begun)
    expect(refused?.reason).toContain('start another run')
  })
})

it('every key that the table names is a key of the configuration', async () => {
  const { ruledKeys } = await import('./changes.ts')
  const known = configFields().flatMap(({ key }) => [key, key.replace(/\.N\..*$/, '.N')])
  for (const key of ruledKeys) expect(known).toContain(key)
})
