/**
 * Files of a report: small enough to be kept beside a text about it.
 *
 * Invariants
 * - [REPORT-FILES-1] NAME.json is the report; NAME.csv has a row for each version that a run was evaluated with; NAME-SUITE.svg
 *   has the learning curves of a suite. Each is written beside its place and renamed.
 * - They name no folder of the machine.
 */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from '../../machine/files/folder.ts'
import { asCsv } from '../../storage/metrics/metrics-table.ts'
import type { ExperimentReport } from './experiment-report.ts'
import { learningCurve } from './learning-curve.ts'

/** Writes the files of a report. @returns their paths */
export function writeReport(report: ExperimentReport, folder: string): readonly string[] {
  const { experiment: name, curves } = report
  const suites = [...Map.groupBy(curves, ({ suite }) => suite)]
  const files: readonly (readonly [string, string])[] = [
    [`${name}.json`, `${JSON.stringify(report, undefined, 1)}\n`],
    [`${name}.csv`, reportCsv(report)],
    ...suites.map(
      ([suite, own]) => [`${name}-${suite}.svg`, learningCurve(own, `${name}: success on ${suite}`)] as const,
    ),
  ]
  makeFolder(folder)
  return files.map(([file, text]) => {
    const path = join(folder, file)
    writeFileSync(`${path}.part`, text)
    renameSync(`${path}.part`, path)
    return path
  })
}

/** All figures of all runs, a row each. */
export function reportCsv({ runs }: ExperimentReport): string {
  const columns = ['arm', 'seed', 'run', 'status', 'suite', 'version', 'counts', 'success', 'n']
  const rows = runs.flatMap(({ arm, seed, run, status, curve, measured }) =>
    curve.map(({ suite, version, success, n }) => {
      const counts = measured.some((each) => each.suite === suite && each.version === version)
      return [arm, seed, run, status, suite, version, counts, success, n]
    }),
  )
  return asCsv({ columns, rows })
}
