/**
 * The report of an experiment, found in a home and in reports that were written elsewhere.
 *
 * Invariants
 * - A run that is done in either is reported as done.
 * - It reads a store and never makes one.
 */
import type { ExperimentStatement } from '../../config/files/experiment.ts'
import { experimentName } from '../../identity/identity.ts'
import type { Home } from '../../storage/disk/home.ts'
import { hasStore } from '../../storage/disk/lost-store.ts'
import { openStore } from '../../storage/store.ts'
import { outcomesOf } from './experiment-outcomes.ts'
import { type ExperimentReport, reportOn } from './experiment-report.ts'
import { knownExperiment, storedExperiment } from './experiments.ts'
import { completedBy, measureRuns, notBegun } from './measured-runs.ts'
import { readReports } from './written-reports.ts'

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
  await using store = hasStore(home.storeFile)
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
