import { expect, test } from 'vitest'
import { resolveConfig } from '../../config/files/loader.ts'
import { searchAttributes } from '../../contract/messages.ts'
import { ownServer, type RunId } from '../../identity/identity.ts'
import { evaluationPlan, evaluationStart } from './evaluation-plan.ts'

const run = 'r1' as RunId
const config = resolveConfig({
  tasks: [{ task: 'alfworld' }, { task: 'kg' }],
  evaluation: { suites: [{ name: 'facts', task: 'kg', episodes: 20 }] },
})
const [suite] = config.evaluation.suites
if (suite === undefined) throw new TypeError('the suite is missing')

test('the same checkpoint, suite and number of episodes give the same plan, hence the same identity', () => {
  const plan = evaluationPlan(run, config, { suite, version: 3 })
  expect(evaluationPlan(run, config, { suite, version: 3, episodes: 20, samples: 1 })).toEqual(plan)
  const others = [
    evaluationPlan(run, config, { suite, version: 4 }),
    evaluationPlan(run, config, { suite, version: 3, episodes: 21 }),
    evaluationPlan(run, config, { suite, version: 3, samples: 2 }),
  ]
  expect(new Set([plan, ...others].map(({ evaluation }) => evaluation)).size).toBe(4)
})

test('it is started under that identity, and found by its run, task, suite and version', () => {
  const plan = evaluationPlan(run, config, { suite, version: 3, samples: 4 })
  const start = evaluationStart(plan, { namespace: 'default', home: ownServer })
  expect(start).toMatchObject({ workflowId: plan.evaluation, args: [plan], priority: { priorityKey: 5 } })
  expect(start.staticSummary).toBe('facts-20x4 · version 3 · 20 instances of 4 samples')
  expect(start.typedSearchAttributes).toEqual([
    { key: searchAttributes.run, value: 'r1' },
    { key: searchAttributes.task, value: 'kg' },
    { key: searchAttributes.suite, value: 'facts-20x4' },
    { key: searchAttributes.version, value: 3 },
  ])
})

test('[EVALUATION-PLAN-1] five suites play about as many episodes at once as one', () => {
  const names = ['a', 'b', 'c', 'd', 'e']
  const suites = names.map((name) => ({ name, task: 'kg', episodes: 20 }))
  const several = resolveConfig({ tasks: [{ task: 'kg' }], evaluation: { suites } })
  const atOnce = several.evaluation.suites.map(
    (own) => evaluationPlan(run, several, { suite: own, version: 0 }).concurrency,
  )
  expect(evaluationPlan(run, config, { suite, version: 0 }).concurrency).toBe(64)
  expect(atOnce).toEqual([13, 13, 13, 13, 13])
})
