/** Statements in `docs/results.md` on the claims of experiments whose reports are committed. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { pointsBetween } from '../learning/figures.ts'
import type { Interval } from '../learning/interval.ts'
import { meanInterval } from '../learning/student-t.ts'
import { packageRoot } from '../machine/package-root.ts'
import type { ExperimentReport } from './experiment-report.ts'

const folder = join(packageRoot, 'docs/results')
const text = readFileSync(join(packageRoot, 'docs/results.md'), 'utf8').replaceAll(/\s+/g, ' ')
const reports = readdirSync(folder)
  .filter((name) => name.endsWith('.json'))
  .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as ExperimentReport)

function widthOf({ low, high }: Interval): number {
  return high - low
}

describe.each(reports)('the claims of experiment $experiment', ({ hypotheses }) => {
  it.each(hypotheses)('$name: the narrower of its two intervals is never given alone', (claim) => {
    const { t, bootstrap, seeds = [] } = claim
    if (t === undefined || bootstrap === undefined) throw new RangeError('a claim without intervals')
    const { low, high } = meanInterval(seeds)
    expect([t.low, t.high]).toEqual([expect.closeTo(low, 9), expect.closeTo(high, 9)])
    const [narrow, wide] = widthOf(t) < widthOf(bootstrap) ? [t, bootstrap] : [bootstrap, t]
    const isAlone = text.includes(pointsBetween(narrow)) && !text.includes(pointsBetween(wide))
    expect(isAlone, `${pointsBetween(narrow)} without ${pointsBetween(wide)}`).toBe(false)
  })
})

it.each(['cross-policy', 'staleness', 'multi-task', 'normalization'])(
  'each claim of %s is given with the wider of its two intervals',
  (name) => {
    const report = reports.find(({ experiment }) => experiment === name)
    for (const { t, bootstrap } of report?.hypotheses ?? []) {
      if (t === undefined || bootstrap === undefined) throw new RangeError('a claim without intervals')
      const wider = pointsBetween(widthOf(t) < widthOf(bootstrap) ? bootstrap : t)
      expect(text.includes(wider), wider).toBe(true)
    }
  },
)
