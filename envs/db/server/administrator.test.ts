import { expect, test } from 'vitest'
import { processScope } from '../../../machine/processes/process.ts'
import { databaseNameOf, leasedOf, userNameOf } from './administrator.ts'

test.each([
  'p1234567s1234567890b0123456789ab',
  'p4194304s18446744073b0123456789abn4026531836',
  'pxsxbx',
  processScope(),
])('a name gives back its lease and fits: %s', (scope) => {
  const lease = { id: 'perdure-01234567-89ab-4cde-8f01-23456789abcd', scope }
  expect(databaseNameOf(lease).length).toBeLessThanOrEqual(64)
  expect(userNameOf(lease.id).length).toBeLessThanOrEqual(32)
  expect(leasedOf(databaseNameOf(lease))).toEqual(lease)
})

test('a name of another database has no lease', () => {
  for (const name of ['mysql', 'pdr_', 'pdr_short_x', 'PDR_', 'information_schema'])
    expect(leasedOf(name)).toBeUndefined()
})
