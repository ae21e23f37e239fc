import { expect, test } from 'vitest'
import { inSuiteOrder } from './suite-order.ts'

test('[SUITE-ORDER-1] suites stand as in the configuration, unknown ones last, each as it was', () => {
  const suites = ['held_out', 'unseen'].map((name) => ({ name }))
  const config = { evaluation: { suites } }
  const rows = ['unseen 1', 'former 1', 'held_out 2', 'unseen 0', 'held_out 1'].map((row) => ({
    suite: row.split(' ')[0] ?? '',
    row,
  }))
  expect(inSuiteOrder(config, rows).map(({ row }) => row)).toEqual([
    'held_out 2',
    'held_out 1',
    'unseen 1',
    'unseen 0',
    'former 1',
  ])
})

test('a configuration without suites leaves the order as it is', () => {
  const rows = [{ suite: 'b' }, { suite: 'a' }]
  expect(inSuiteOrder({ tasks: [] }, rows)).toEqual(rows)
})
