import { expect, it } from 'vitest'
import { runId } from '../../identity/identity.ts'
import { checkMetrics } from '../../storage/metrics/metrics.ts'
import { metricsOf, type UpdateFigures } from './update-metrics.ts'

const ratios = { tokens: 3, kl: 0.5, effectiveShare: 0.9, histogram: [0, 1] }
const figures: UpdateFigures = {
  ...{
    episodes: 32,
    tokens: 900,
    actionTokens: 300,
    staleShare: 0.25,
    comparedShare: 0.125,
    turnsPerEpisode: 2,
  },
  ...{ reward: { db: 1 }, shapedReward: { db: 0.75 }, success: { db: 0.5 }, samples: { db: 32 } },
  ...{ staleness: { mean: 0.5, max: 1 }, freshRatios: ratios, staleRatios: ratios },
  memberWeights: [{ version: 3, weight: 0.5 }],
  ...{ kl: 0.01, drift: 0.002, referenceKl: 0.03, entropy: 1.5, clipFraction: 0.0625, gradientNorm: 0.75 },
  ...{ loss: -0.5, groupsWithPreference: 2, replayed: 1 },
  signal: { groups: 6, withPreference: 2, won: 3, lost: 1, unusable: 0.2, cutOff: 0.1 },
  skipped: { groups: 2, won: 1, lost: 1, episodes: 16, tokens: 450, seconds: 9 },
  tasks: { db: { won: 2, lost: 0, mixed: 2, mean: 0.1, deviation: 0.9, gradientShare: 1 } },
  ...{ refused: 'too large', waitSeconds: 4, trainSeconds: 5 },
}

function lineOf(statistics: object): string {
  const update = { run: runId('a'), step: 7, version: 6, groups: [], created: 0 }
  const line = metricsOf({ ...update, statistics: { ...statistics } }, 0.5)
  checkMetrics(line)
  return JSON.stringify(line)
}

it('the line of an update has its keys in an order that stays', () => {
  expect(lineOf(figures)).toBe(
    '{"step":7,"version":6,"time":"1970-01-01T00:00:00.000Z","episodes":32,"tokens":900,"action_tokens":300,"reward":{"db":1},"shaped_reward":{"db":0.75},"success":{"db":0.5},"samples":{"db":32},"staleness":{"mean":0.5,"max":1},"stale_share":0.25,"compared_share":0.125,"turns_per_episode":2,"fresh":{"tokens":3,"kl":0.5,"effective_share":0.9,"ratios":[0,1]},"stale":{"tokens":3,"kl":0.5,"effective_share":0.9,"ratios":[0,1]},"pool_weights":{"3":0.5},"kl":0.01,"drift":0.002,"reference_kl":0.03,"entropy":1.5,"clip_fraction":0.0625,"grad_norm":0.75,"loss":-0.5,"groups_with_preference":2,"groups":4,"groups_won":2,"groups_lost":0,"unusable_share":0.2,"cut_off_share":0.1,"skipped":{"groups":2,"won":1,"lost":1,"episodes":16,"tokens":450},"replayed":1,"tasks":{"db":{"won":2,"lost":0,"mixed":2,"mean":0.1,"deviation":0.9,"gradient_share":1}},"refused":"too large","seconds":{"wait":4,"train":5,"publish":0.5,"skipped":9}}',
  )
})
