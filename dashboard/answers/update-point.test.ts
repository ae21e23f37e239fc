import { expect, test } from 'vitest'
import type { UpdateMetrics } from '../../storage/metrics/metrics.ts'
import { figuresOf } from './update-point.ts'

function line(more: object): UpdateMetrics {
  return { staleness: {}, seconds: {}, ...more } as unknown as UpdateMetrics
}

const played = { groups: 16, groups_with_preference: 9, groups_won: 4, groups_lost: 2 }

// [UPDATE-POINT-1]
test('groups that were skipped to make room are not among those that are equal otherwise', () => {
  const skipped = { groups: 7, won: 5, lost: 1, episodes: 56, tokens: 100 }
  // 16 − 9 mixed − 4 won − 2 lost leave 1; of the 7 skipped ones 5 were won and 1 was lost.
  expect(figuresOf(line({ ...played, skipped }), { seconds: 1, turns: 1 })).toMatchObject({
    groups_equal: 1,
    skipped_groups: 7,
    skipped_won: 5,
    skipped_lost: 1,
  })
})

test('a figure that a line lacks is null', () => {
  expect(figuresOf(line(played), { seconds: 1, turns: 1 })).toMatchObject({ groups_equal: 1, replayed: null })
})
