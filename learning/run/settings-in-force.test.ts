import { expect, it } from 'vitest'
import { settingsInForce } from './settings-in-force.ts'

it('an order holds over the configuration, and null is an order too', () => {
  const configured: { readonly a: number; readonly b: number | null } = { a: 1, b: 2 }
  expect(settingsInForce(configured, {})).toEqual({ a: 1, b: 2 })
  expect(settingsInForce(configured, { a: 0, b: null })).toEqual({ a: 0, b: null })
  expect(settingsInForce(configured, { a: undefined })).toEqual({ a: 1, b: 2 })
})
