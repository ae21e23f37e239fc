/**
 * `perdure data`: the official data of the tasks, pulled from their publishers, and what is there.
 *
 * Invariants
 * - A pull reports folder, version and licence, and the files whose checksum was not pinned beforehand.
 * - `pull all` tries every task, and fails where one of them failed.
 */
import path from 'node:path'
import { Command } from 'commander'
import { meantInstead } from '../../config/files/fault.ts'
import { catalogue, type Dataset } from '../../datasets/catalogue.ts'
import { DataFault } from '../../datasets/fault.ts'
import type { PullProgress } from '../../datasets/pull.ts'
import { readRecord } from '../../datasets/record.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { CallFault, exitCodes } from '../terminal/failure.ts'
import { watchInterrupts } from '../terminal/interrupt.ts'
import { homeOption, jsonOption, type ReportOptions, shellPath } from '../terminal/options.ts'
import { Table } from '../terminal/table.ts'
import { openTerminal, type Terminal } from '../terminal/terminal.ts'
import { bytes, count } from '../terminal/wording.ts'

interface PullFlags extends ReportOptions {
  readonly to?: string
  readonly from?: string
  readonly mirror?: string
}

/** The command `data` with its sub-commands. */
export function dataCommand(): Command {
  const data = new Command('data').description('official data of the tasks: pull or list it')
  data
    .command('pull')
    .description(
      'pull the official data of a task from its publisher; data that is there is not pulled again',
    )
    .argument('<task>', `${catalogue.map(({ task }) => task).join(', ')}, or all`)
    .option('--to <dir>', 'folder to put it in; <home>/data/<task> by default', shellPath)
    .option('--from <dir>', 'folder to take the files from, instead of the network', shellPath)
    .option('--mirror <url>', 'base URL of a mirror to take the files from')
    .addOption(homeOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      `
A mirror or folder has the files under the publisher's host and path
(raw.githubusercontent.com/THUDM/…), under the path alone, or as <task>/<file>.

Examples:
  $ perdure data pull alfworld
  $ perdure data pull all --mirror https://files.example.org/perdure
  $ perdure env play alfworld --data .perdure/data/alfworld`,
    )
    .action(pullCommand)
  data
    .command('list')
    .description('what data there is, its version, size and licence')
    .addOption(homeOption())
    .addOption(jsonOption())
    .addHelpText('after', '\nExample:\n  $ perdure data list')
    .action(listCommand)
  return data
}

async function pullCommand(task: string, flags: PullFlags): Promise<void> {
  const chosen = chooseDatasets(task, flags)
  const terminal = openTerminal(flags)
  using interrupt = watchInterrupts(() => undefined)
  const { pull } = await import('../../datasets/pull.ts')
  const results: object[] = []
  const lines: string[] = []
  let failed = false
  for (const dataset of chosen) {
    const folder = path.resolve(flags.to ?? defaultFolder(flags.home, dataset.task))
    try {
      const pulled = await pull(dataset, folder, {
        from: flags.from,
        mirror: flags.mirror,
        signal: interrupt.signal,
        onProgress: progressLine(terminal),
      })
      results.push({ ...pulled, version: dataset.version, licence: dataset.licence })
      const what = `${dataset.task}: ${count(pulled.files)} files, ${bytes(pulled.bytes)} in ${folder}`
      lines.push(`${what} (${dataset.version}, ${dataset.licence})`)
      if (pulled.unpinned.length > 0) lines.push(`  ${hashNote(pulled.unpinned)}`)
      lines.push(
        `  Use it with ${dataset.folders.map((each) => `--data ${path.join(folder, each)}`).join(' or ')}`,
      )
    } catch (cause) {
      if (interrupt.signal.aborted) {
        terminal.settle()
        terminal.say('Interrupted; the same command continues where it stopped.')
        process.exitCode = exitCodes.interrupted
        return
      }
      if (!(cause instanceof DataFault)) throw cause
      failed = true
      results.push({ task: dataset.task, folder, error: cause.message })
      terminal.settle()
      process.stderr.write(`error: ${dataset.task}: ${cause.message}\n`)
    }
  }
  terminal.settle()
  terminal.report(task === 'all' ? results : results[0], lines)
  if (failed) process.exitCode = exitCodes.failed
}

function hashNote(unpinned: readonly string[]): string {
  const [first, ...others] = unpinned
  const names = others.length === 0 ? first : `${first} and ${others.length} more`
  return `No hash of ${names} was known before; later pulls must give the same bytes.`
}

function chooseDatasets(task: string, { to, from, mirror }: PullFlags): readonly Dataset[] {
  if (from !== undefined && mirror !== undefined)
    throw new CallFault('bad_flag', '--from and --mirror exclude each other')
  if (mirror !== undefined && !(URL.canParse(mirror) && /^https?:$/.test(new URL(mirror).protocol)))
    throw new CallFault('bad_flag', `--mirror: "${mirror}" is no http or https address`)
  if (task === 'all') {
    if (to !== undefined)
      throw new CallFault('bad_flag', '--to names the folder of one task; use --home with all')
    return catalogue
  }
  const chosen = catalogue.filter((dataset) => dataset.task === task)
  if (chosen.length > 0) return chosen
  const names = catalogue.map((dataset) => dataset.task)
  throw new CallFault(
    'bad_argument',
    `there is no official data of "${task}": use ${names.join(', ')}, or all${meantInstead(task, [...names, 'all'])}`,
  )
}

function defaultFolder(home: string, task: string): string {
  return path.join(homeAt(home).dataDir, task)
}

/** Draws the progress; where no terminal shows it, prints a line for each file. */
function progressLine(terminal: Terminal): (progress: PullProgress) => void {
  let said = ''
  return ({ task, path: file, step, done, all, received, total }) => {
    const place = `${task} ${done + 1}/${all} ${file}`
    if (terminal.interactive) {
      const part = total === undefined ? '' : ` of ${bytes(total)}`
      const far = step === 'unpacking' ? `${count(received)} files` : `${bytes(received)}${part}`
      terminal.draw([`${place}: ${step === 'there' ? 'there already' : `${step} ${far}`}`])
    } else if (step !== 'there' && said !== `${step} ${file}`) {
      said = `${step} ${file}`
      terminal.say(`${place}: ${step}`)
    }
  }
}

async function listCommand(options: ReportOptions): Promise<void> {
  const rows = await Promise.all(
    catalogue.map(async ({ task, version, licence }) => {
      const folder = defaultFolder(options.home, task)
      const record = await readRecord(folder)
      const sizes = Object.values(record?.files ?? {})
      return {
        task,
        state: record === undefined ? 'not pulled' : record.complete ? 'pulled' : 'in part',
        version: record?.version ?? version,
        licence: record?.licence ?? licence,
        files: sizes.length,
        bytes: sizes.reduce((sum, size) => sum + size, 0),
        folder,
      } as const
    }),
  )
  const table = new Table({
    head: ['task', 'data', 'version', 'licence', 'files', 'size', 'folder'],
    rows: rows.map((row) => [
      row.task,
      row.state,
      row.version,
      row.licence,
      row.files === 0 ? '' : count(row.files),
      row.files === 0 ? '' : bytes(row.bytes),
      row.state === 'not pulled' ? '' : row.folder,
    ]),
  })
  openTerminal(options).report(rows, [table])
}
