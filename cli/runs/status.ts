/**
 * `status` and `runs`: how far runs are.
 *
 * Invariants
 * - A run that no process works on is shown from the store, with how to continue it.
 */

import { Command } from 'commander'
import { SessionFault } from '../../client/run/session-fault.ts'
import type { RunProgress } from '../../client/session/training-session.ts'
import { plain } from '../../learning/statistics/figures.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { isStoreWritable } from '../../storage/place.ts'
import { TemporalFault } from '../../temporal/server/fault.ts'
import { withClient } from '../terminal/command-session.ts'
import { homeToName, type ReportOptions, reporting, runName } from '../terminal/options.ts'
import { factLines, Table } from '../terminal/table.ts'
import { openTerminal, painted, type Terminal } from '../terminal/terminal.ts'
import { count, duration, runSeconds } from '../terminal/wording.ts'
import { learningWords, nextCommands } from './final-report.ts'
import { bySuite, findingWords, renderLive } from './live-view.ts'
import { findRun, listRuns, type RunRecord } from './run-record.ts'

/** `perdure status RUN`. */
export function statusCommand(): Command {
  return reporting(
    new Command('status')
      .summary('show the progress of a run')
      .description('Shows the progress of a run: live where a process works on it, else as it was left.')
      .argument('<run>', 'name of the run', runName),
    ['status first', 'status first --json'],
  ).action(async (run: string, options: ReportOptions) => {
    const terminal = openTerminal(options)
    const record = await findRun(options.home, run)
    const service = record.status === 'running' ? await serviceOf(options.home) : idle
    const { live, silence = service.silence } = service.isAttended
      ? await liveProgress(run, options.home, terminal)
      : { live: undefined }
    const lines =
      live === undefined
        ? recordLines(record, options.home, silence, terminal.tableColumns)
        : [
            ...painted(
              renderLive(
                { ...live, now: Date.now(), tokensPerSecond: undefined, secondsLeft: undefined },
                terminal,
              ),
            ),
            ...[...askedRows(record), ...promotedRows(record)].map(
              ([name, value]) => ` ${name.padEnd(12)}${value}`,
            ),
          ]
    const warning = silence === undefined ? {} : { warning: silence }
    const resumable = silence === undefined && isResumable(record, live)
    terminal.report({ ...record, ...warning, ...live?.progress, resumable }, lines)
  })
}

/** `perdure runs`. */
export function runsCommand(): Command {
  return reporting(
    new Command('runs')
      .summary('list the runs of a home directory')
      .description('Lists the runs of a home directory, the latest first.'),
    ['runs', 'runs --home /data/perdure --json'],
  ).action(async (options: ReportOptions) => {
    const terminal = openTerminal(options)
    const records = await listRuns(options.home)
    terminal.report(records, [
      records.length === 0
        ? `No runs in ${options.home} yet; \`perdure train\` starts one.`
        : runsTable(records),
    ])
  })
}

/** Whether a process can answer for a run; `silence` describes a server that does not answer. */
interface Service {
  readonly isAttended: boolean
  readonly silence?: string
}

const idle: Service = { isAttended: false }

// Asking starts a server where none runs, only to hear that no process works on the run.
async function serviceOf(home: string): Promise<Service> {
  // Asking the service opens the home for writing.
  if (!(await isStoreWritable(homeAt(home).storeFile))) return idle
  const { externalServer } = await import('../../temporal/connection.ts')
  if (externalServer() !== undefined) return { isAttended: true }
  const { inspectTemporal } = await import('../../temporal/server/server.ts')
  const server = await inspectTemporal(homeAt(home).dir)
  if (server?.silence !== undefined) return { isAttended: false, silence: server.silence }
  return { isAttended: server?.running === true && server.users > 0 }
}

async function liveProgress(
  run: string,
  home: string,
  terminal: Terminal,
): Promise<{ live?: { progress: RunProgress; uiUrl: string | undefined }; silence?: string }> {
  try {
    return await withClient(home, terminal, async (session) => ({
      live: { progress: await session.progress(run), uiUrl: session.uiUrl },
    }))
  } catch (error) {
    // Without workers no one answers for the run; the store still knows how far it came.
    if (error instanceof SessionFault) return {}
    if (error instanceof TemporalFault && error.kind === 'unreachable') return { silence: error.message }
    throw error
  }
}

function isResumable(record: RunRecord, live: unknown): boolean {
  return record.status === 'stopped' || (record.status === 'running' && live === undefined)
}

function statusWords(record: RunRecord, silence: string | undefined): string {
  if (record.status !== 'running') return record.status
  return silence === undefined ? 'interrupted: no process works on it' : 'running, as far as is known'
}

/** A run in words, from its store. */
function recordLines(
  record: RunRecord,
  home: string,
  silence: string | undefined,
  columns: number,
): readonly string[] {
  const last = record.ended === undefined ? '' : `, after ${duration(runSeconds(record, record.ended))}`
  const rows: [string, string][] = [
    ['run', record.run],
    ['status', `${statusWords(record, silence)}${last}`],
    ...(silence === undefined ? [] : ([['but', silence]] as [string, string][])),
    ...(record.detail === undefined ? [] : ([['says', record.detail]] as [string, string][])),
    ['updates', String(record.step)],
    ['version', String(record.version)],
    ...askedRows(record),
    ...promotedRows(record),
    ...[...bySuite(record.evaluations)].map(([suite, evaluations]): [string, string] => [
      suite,
      evaluations.map((evaluation) => `v${evaluation.version} ${findingWords(evaluation)}`).join(' → '),
    ]),
    ...(record.failedEvaluations ?? []).map(({ suite, version, reason }): [string, string] => [
      suite,
      `v${version} failed: ${reason}`,
    ]),
    ['directory', record.directory],
  ]
  return [
    ...factLines(rows, columns),
    ...learningWords(record),
    '',
    'Next:',
    ...nextCommands(record.run, homeToName(home), record.status === 'done', columns),
  ]
}

function askedRows({ asked }: RunRecord): readonly [string, string][] {
  if (asked === undefined) return []
  const { answers, faults, tokens, cost } = asked
  const paid = cost === 0 ? '' : `, cost ${plain(cost)}`
  return [
    ['asked', `${count(answers)} answers of models, ${count(faults)} faults, ${count(tokens)} tokens${paid}`],
  ]
}

function promotedRows({ promoted }: RunRecord): readonly [string, string][] {
  if (promoted === undefined) return []
  const { version, evaluation, by } = promoted
  const evidence = evaluation === undefined ? '' : `, ${evaluation.suite} ${findingWords(evaluation)}`
  return [['promoted', `v${version}${evidence}, by ${by}`]]
}

/** The runs as a table. */
function runsTable(records: readonly RunRecord[]): Table {
  const lastOf = ({ evaluations }: RunRecord): string => {
    const last = evaluations.at(-1)
    return last === undefined ? '' : `${last.suite} v${last.version} ${findingWords(last)}`
  }
  return new Table({
    head: ['run', 'status', 'started', 'updates', 'version', 'last evaluation'],
    aligns: ['left', 'left', 'left', 'right', 'right', 'left'],
    rows: records.map((record) => [
      record.run,
      record.status,
      new Date(record.created).toISOString().slice(0, 16).replace('T', ' '),
      record.step,
      record.version,
      lastOf(record),
    ]),
  })
}
