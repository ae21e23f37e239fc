import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { update } from './metrics.testing.ts'
import type { MetricsLine } from './metrics.ts'
import { asCsv, metricsTable } from './metrics-table.ts'

const evaluation = {
  ...{ evaluation: 'e-held_out-v1', version: 1, suite: 'held_out', success: 0.5 },
  ...{ n: 20, planned: 20, lost: {} },
}
const lines: readonly MetricsLine[] = [
  update(1),
  evaluation,
  { ...update(2), success: { alfworld: 0.5, db: 1 } },
  { rollback: 1, version: 3, from: 2, time: '2026-01-02T03:04:05.678Z' },
]

/** Reads CSV by its grammar alone. */
function parse(text: string): string[][] {
  const records = text.match(/(?:(?:"(?:[^"]|"")*"|[^",\r\n]*)(?:,|\r\n))+?(?<=\r\n)/g) ?? []
  return records.map((record) =>
    [...record.matchAll(/("(?:[^"]|"")*"|[^",\r\n]*)(?:,|\r\n)/g)].map(([, cell = '']) =>
      cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell,
    ),
  )
}

describe('the table of metrics', () => {
  // [TABLE-OF-METRICS-1] [TABLE-OF-METRICS-2]
  it('has a row for each update, with a column for every number, empty where a line has none', () => {
    const { columns, rows } = metricsTable(lines, 'updates')
    expect(columns.slice(0, 4)).toEqual(['step', 'version', 'time', 'episodes'])
    const cell = (row: number, name: string) => rows[row]?.[columns.indexOf(name)]
    expect(rows).toHaveLength(2)
    expect([cell(0, 'step'), cell(1, 'step')]).toEqual([1, 2])
    expect([cell(0, 'success.alfworld'), cell(1, 'success.alfworld')]).toEqual([0.375, 0.5])
    expect([cell(0, 'success.db'), cell(1, 'success.db')]).toEqual([null, 1])
    expect(cell(0, 'seconds.publish')).toBe(0.1)
  })

  it('has a row for each evaluation', () => {
    expect(metricsTable(lines, 'evaluations')).toEqual({
      columns: ['evaluation', 'version', 'suite', 'success', 'n', 'planned'],
      rows: [['e-held_out-v1', 1, 'held_out', 0.5, 20, 20]],
    })
  })

  it('of a run without updates has neither columns nor rows', () => {
    expect(metricsTable([], 'updates')).toEqual({ columns: [], rows: [] })
  })

  // [TABLE-OF-METRICS-3]
  it('is read back from CSV cell by cell, whatever texts hold', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme' }), { minLength: 2, maxLength: 4 }), (texts) => {
        const table = { columns: texts, rows: [texts.toReversed(), texts.map(() => null)] }
        const expected = [texts, texts.toReversed(), texts.map(() => '')]
        expect(parse(asCsv(table))).toEqual(expected)
      }),
    )
  })
})
