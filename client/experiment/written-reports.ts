/**
 * Reports of an experiment that were written before, on another machine or in a home that is gone: their runs count as done.
 *
 * Invariants
 * - [WRITTEN-1] A report counts only where its files are, to the byte, those that the experiment is stated by.
 * - [WRITTEN-2] Figures of its runs are those measured when the report was written.
 * - It reads a store and never makes one.
 * - [REPORT-FILES-1] NAME.json is the report; NAME.csv has a row for each version that a run was evaluated with; NAME-SUITE.svg
 *   has the learning curves of a suite. Each is written beside its place and renamed.
 * - They name no folder of the machine.
 */

import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { ExperimentStatement } from '../../config/files/experiment.ts'
import { reasonOf } from '../../faults/reason.ts'
import { experimentName, runId } from '../../identity/identity.ts'
import type { Kinds } from '../../learning/claims/kinds.ts'
import { statedMeasure } from '../../learning/evaluation/measure.ts'
import { makeFolder } from '../../machine/files/folder.ts'
import { readTextSync } from '../../machine/files/text-file.ts'
import { judgedFigureSchema } from '../../policy/checkpoints/promotion.ts'
import type { Home } from '../../storage/disk/home.ts'
import { asCsv } from '../../storage/metrics/metrics-table.ts'
import { hasStore } from '../../storage/place.ts'
import { openStore } from '../../storage/store.ts'
import { SessionFault } from '../run/session-fault.ts'
import { outcomesOf, outcomesSchema, sharesIn } from './experiment-outcomes.ts'
import { type ExperimentReport, expertName, reportOn } from './experiment-report.ts'
import { knownExperiment, runsOf, storedExperiment } from './experiments.ts'
import { learningCurve } from './learning-curve.ts'
import {
  completedBy,
  type MeasuredFigure,
  type MeasuredRun,
  measureRuns,
  notBegun,
  type RunCost,
} from './measured-runs.ts'

const share = z.number().min(0).max(1)
const amount = z.number().min(0)
const stated = z.object({ sha256: z.string() })

const costSchema = z.object({
  seconds: amount,
  cpuSeconds: amount.optional(),
  episodes: amount,
  actionTokens: amount,
})

const reportSchema = z.object({
  experiment: z.string(),
  source: stated,
  base: stated.optional(),
  began: z.iso.datetime(),
  machine: z.string(),
  curves: z.array(
    z.object({ arm: z.string(), suite: z.string(), points: z.array(z.object({ mean: z.number() })) }),
  ),
  runs: z.array(
    z.object({
      run: z.string(),
      arm: z.string(),
      seed: amount,
      status: z.string(),
      machine: z.string().optional(),
      cost: costSchema.optional(),
      curve: z.array(
        z.object({
          suite: z.string(),
          version: amount,
          value: z.number().optional(),
          measured: judgedFigureSchema.optional(),
          metric: judgedFigureSchema.pick({ better: true, unit: true }).optional(),
          success: share,
          n: amount,
          /** Absent in reports of earlier builds, where all were played. */
          planned: amount.optional(),
          spent: z
            .object({
              ...{ updates: amount, episodes: amount, tokens: amount, seconds: amount },
              cpuSeconds: amount.optional(),
            })
            .optional(),
        }),
      ),
    }),
  ),
  outcomes: outcomesSchema,
})

type WrittenReport = z.infer<typeof reportSchema>

/** Runs of several reports. */
export interface WrittenRuns {
  /** Runs that are done, each as the first report has it. */
  readonly runs: readonly MeasuredRun[]
  /** When the first of them began; absent without a report. */
  readonly began?: number
}

/** @throws SessionFault `bad_report` */
export function readReports(files: readonly string[], statement: ExperimentStatement): WrittenRuns {
  const reports = files.map((file) => readReport(file, statement))
  const stated = runsOf(statement).map(({ run }) => run)
  const runs = reports.flatMap(doneRuns).filter(({ run }) => stated.includes(run))
  return {
    runs: runs.filter(({ run }, at) => runs.findIndex((each) => each.run === run) === at),
    ...(reports.length === 0 ? {} : { began: Math.min(...reports.map(({ began }) => Date.parse(began))) }),
  }
}

/** The done runs of any experiment's report. @throws SessionFault `bad_report` */
export function readReportedRuns(file: string): readonly MeasuredRun[] {
  return doneRuns(parseReport(file))
}

function refusedReport(file: string, why: string, cause?: unknown): SessionFault {
  const what = 'a NAME.json that `perdure experiment report` wrote with --out'
  return new SessionFault('bad_report', `${file}: ${why}; give ${what}`, { cause })
}

function readReport(file: string, { name, source, base }: ExperimentStatement): WrittenReport {
  const data = parseReport(file)
  if (data.experiment !== name)
    throw refusedReport(file, `it is a report of experiment ${data.experiment}, not of ${name}`)
  if (data.source.sha256 !== source.sha256 || data.base?.sha256 !== base?.sha256)
    throw refusedReport(file, 'it reports an experiment that other files state, by their SHA-256')
  return data
}

function parseReport(file: string): WrittenReport {
  const refused = (why: string, cause?: unknown) => refusedReport(file, why, cause)
  let text: string
  try {
    text = readTextSync(file)
  } catch (error) {
    throw refused(`it cannot be read (${reasonOf(error)})`, error)
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw refused('it is no JSON', error)
  }
  const { data, error } = reportSchema.safeParse(value)
  if (error !== undefined) {
    const [issue] = error.issues
    throw refused(`it is no report with outcomes (${issue?.path.join('.')}: ${issue?.message})`, error)
  }
  return data
}

function doneRuns(report: WrittenReport): readonly MeasuredRun[] {
  const experts = report.curves
    .filter(({ arm }) => arm === expertName)
    .flatMap(({ suite, points: [point] }) => (point === undefined ? [] : [{ suite, success: point.mean }]))
  return report.runs.flatMap(({ run, arm, seed, status, cost, curve, machine = report.machine }) => {
    if (status !== 'done') return []
    const figures = curve.map(
      ({ value, planned, spent, ...each }): MeasuredFigure => ({
        ...each,
        ...(spent === undefined ? {} : { spent }),
        value: value ?? each.success,
        planned: planned ?? each.n,
        shares: () => sharesAt(report, run, each),
        kinds: () => kindsIn(report, each.suite),
      }),
    )
    const own = { run: runId(run), arm, seed, machine, experts, status: 'done', figures } as const
    return [{ ...own, ...(cost === undefined ? {} : { cost: costOf(cost) }) }]
  })
}

async function kindsIn({ outcomes }: WrittenReport, suite: string): Promise<Kinds> {
  const { instances = [], kinds = [] } = outcomes.find((each) => each.suite === suite) ?? {}
  return new Map(instances.flatMap((instance, at) => (kinds[at] ? [[instance, kinds[at]] as const] : [])))
}

async function sharesAt(
  { outcomes }: WrittenReport,
  run: string,
  { suite, version }: Pick<MeasuredFigure, 'suite' | 'version'>,
): ReturnType<MeasuredFigure['shares']> {
  const own = outcomes.find((each) => each.suite === suite)
  const found = own?.versions.find((each) => each.run === run && each.version === version)
  return sharesIn(own?.instances ?? [], found?.shares ?? '')
}

function costOf({ cpuSeconds, ...cost }: z.infer<typeof costSchema>): RunCost {
  return { ...cost, ...(cpuSeconds === undefined ? {} : { cpuSeconds }) }
}

/**
 * An experiment's runs from a home and from reports written before; undefined where neither has it.
 * @throws SessionFault `unknown_experiment`, `bad_report`
 */
export async function findReport(
  home: Home,
  asked: {
    readonly name: string
    readonly given: ExperimentStatement | undefined
    /** Reports. */
    readonly files: readonly string[]
    /** Then it has outcomes. */
    readonly isWritten: boolean
  },
): Promise<ExperimentReport | undefined> {
  const { name, given, files, isWritten } = asked
  await using store = (await hasStore(home.storeFile))
    ? await openStore(home.storeFile, { create: false, access: 'read' })
    : undefined
  const mayBeNew = given !== undefined && files.length > 0
  const stored =
    store && (await (mayBeNew ? storedExperiment(store, name) : knownExperiment(store, home, name)))
  const statement = stored?.statement ?? given
  if (statement === undefined) return undefined
  const { runs: elsewhere, began } = readReports(files, statement)
  const known =
    stored ?? (began === undefined ? undefined : { name: experimentName(name), statement, created: began })
  if (known === undefined) return undefined
  const own =
    store !== undefined && stored !== undefined ? await measureRuns(store, statement) : notBegun(statement)
  const runs = completedBy(own, elsewhere)
  const reported = await reportOn(runs, known, given)
  return isWritten ? { ...reported, outcomes: await outcomesOf(statement.suites, runs) } : reported
}

/** Writes the files of a report. @returns their paths */
export function writeReport(report: ExperimentReport, folder: string): readonly string[] {
  const { experiment: name, curves, measure, metric } = report
  const { words, isShare } = statedMeasure(measure, metric)
  const suites = [...Map.groupBy(curves, ({ suite }) => suite)]
  const files: readonly (readonly [string, string])[] = [
    [`${name}.json`, `${JSON.stringify(report, undefined, 1)}\n`],
    [`${name}.csv`, reportCsv(report)],
    ...suites.map(
      ([suite, own]) =>
        [`${name}-${suite}.svg`, learningCurve(own, `${name}: ${words} on ${suite}`, isShare)] as const,
    ),
  ]
  return writeFiles(folder, files)
}

/** Writes files, by name and text, into a folder that is made if it is missing. @returns their paths */
export function writeFiles(
  folder: string,
  files: readonly (readonly [name: string, text: string])[],
): readonly string[] {
  makeFolder(folder)
  return files.map(([file, text]) => {
    const path = join(folder, file)
    writeFileSync(`${path}.part`, text)
    renameSync(`${path}.part`, path)
    return path
  })
}

/** All figures of all runs, a row each. */
function reportCsv({ runs }: ExperimentReport): string {
  const spending = ['updates', 'episodes', 'tokens', 'seconds', 'cpuSeconds'] as const
  const columns = ['arm', 'seed', 'run', 'status', 'suite', 'version', 'counts', 'success', 'n', 'value']
  const rows = runs.flatMap(({ arm, seed, run, status, curve, measured }) =>
    curve.map(({ suite, version, value, success, n, spent }) => {
      const counts = measured.some((each) => each.suite === suite && each.version === version)
      const amounts = spending.map((name) => spent?.[name] ?? '')
      return [arm, seed, run, status, suite, version, counts, success, n, value, ...amounts]
    }),
  )
  return asCsv({ columns: [...columns, ...spending], rows })
}
