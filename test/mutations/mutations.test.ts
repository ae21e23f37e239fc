import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { mutations } from './mutations.ts'

it.each(mutations)('$file has "$before" once, and its tests are there', ({ file, before, after, tests }) => {
  expect(readFileSync(file, 'utf8').split(before)).toHaveLength(2)
  expect(after).not.toBe(before)
  for (const test of tests) expect(existsSync(test), test).toBe(true)
})

it('there are thirty mutations, and none is there twice', () => {
  expect(new Set(mutations.map(({ file, before }) => `${file} ${before}`)).size).toBe(30)
})
