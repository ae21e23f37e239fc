import { expect, test } from 'vitest'
import { configSchema } from '../../../../config/schema/schema.ts'
import { configuredSuites } from './configured-suites.ts'

test('every suite of a configuration is named, and a configuration without any has none', () => {
  const suites = [{ name: 'few' }, { name: 'many' }]
  const { evaluation } = configSchema.parse({ evaluation: { suites } })
  expect(configuredSuites({ evaluation: JSON.parse(JSON.stringify(evaluation)) })).toEqual(['few', 'many'])
  expect(configuredSuites({})).toEqual([])
  expect(configuredSuites({ evaluation: { suites: null } })).toEqual([])
})
