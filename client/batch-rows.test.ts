import { expect, it } from 'vitest'
import { type BatchCandidate, rowsOfEpisodes } from './batch-rows.ts'

const taught = (tokens: string): BatchCandidate => ({ tokens, hasPreference: true })
const skipped = (tokens: string): BatchCandidate => ({ tokens, hasPreference: false })

// [BATCH-ROWS-1]
it('each episode that was learnt from has its row, and the others have none', () => {
  const episodes = [taught('a'), taught('b'), taught('c'), taught('d')]
  expect(rowsOfEpisodes(episodes, ['a', 'c', 'd', 'replayed'])).toEqual([0, undefined, 1, 2])
  expect(rowsOfEpisodes(episodes, [])).toEqual([undefined, undefined, undefined, undefined])
  expect(rowsOfEpisodes([], ['a'])).toEqual([])
})

it('an episode whose tokens are gone leaves the rows of the others where they are', () => {
  expect(rowsOfEpisodes([taught('gone'), taught('b'), taught('c')], ['a', 'b', 'c'])).toEqual([
    undefined,
    1,
    2,
  ])
})

// [BATCH-ROWS-2]
it('a row belongs to a group whose rewards differ rather than to one with the same tokens that was skipped', () => {
  const episodes = [skipped('a'), skipped('a'), taught('a'), taught('b')]
  expect(rowsOfEpisodes(episodes, ['a', 'b'])).toEqual([undefined, undefined, 0, 1])
})

it('repeated tokens have their rows in order', () => {
  expect(rowsOfEpisodes([taught('a'), taught('a'), taught('b'), taught('a')], ['a', 'a', 'b', 'a'])).toEqual([
    0, 1, 2, 3,
  ])
})
