/** Statements of the results page and the research diary on the claims of experiments whose reports are committed. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { pointsBetween } from '../../learning/statistics/figures.ts'
import type { Interval } from '../../learning/statistics/interval.ts'
import { meanInterval } from '../../learning/statistics/student-t.ts'
import { packageRoot } from '../../machine/files/folder.ts'
import { documents } from '../../test/support/documents.ts'
import type { ExperimentReport } from './experiment-report.ts'

const folder = join(packageRoot, 'research/reports')
const pages = documents
  .filter((page) => page === 'docs/results.md' || page.startsWith('research/'))
  .map((page) => readFileSync(join(packageRoot, page), 'utf8').replaceAll(/\s+/g, ' '))
const reports = readdirSync(folder)
  .filter((name) => name.endsWith('.json') && !name.endsWith('.card.json'))
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
    for (const page of pages) {
      const isAlone = page.includes(pointsBetween(narrow)) && !page.includes(pointsBetween(wide))
      expect(isAlone, `${pointsBetween(narrow)} without ${pointsBetween(wide)}`).toBe(false)
    }
  })
})

it.each(['cross-policy', 'staleness', 'multi-task', 'normalization', 'ingredients', 'five-tasks'])(
  'each claim of %s is given with the wider of its two intervals',
  (name) => {
    const report = reports.find(({ experiment }) => experiment === name)
    for (const { t, bootstrap } of report?.hypotheses ?? []) {
      if (t === undefined || bootstrap === undefined) throw new RangeError('a claim without intervals')
      const wider = pointsBetween(widthOf(t) < widthOf(bootstrap) ? bootstrap : t)
      expect(
        pages.some((page) => page.includes(wider)),
        wider,
      ).toBe(true)
    }
  },
)
