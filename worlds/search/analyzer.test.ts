import { expect, test } from 'vitest'
import { termsOf } from './analyzer.ts'

test('terms are lower-case stems without possessives and stop words', () => {
  expect(termsOf("The Women's Boots, for the rain")).toEqual(['women', 'boot', 'rain'])
  expect(termsOf('Men’s MEN＇S')).toEqual(['men', 'men'])
})

test('no character becomes two in lower case, and none depends on where it is', () => {
  expect(termsOf('İX ΟΔΟΣ')).toEqual(['ix', 'οδοσ'])
})

test('the same text gives the same terms, whatever was analysed before', () => {
  const once = termsOf('shoes and socks')
  termsOf('and shoes'.repeat(50))
  expect(termsOf('shoes and socks')).toEqual(once)
})
