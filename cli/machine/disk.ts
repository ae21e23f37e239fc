/**
 * `disk`: what runs and their home take of the disk.
 *
 * Invariants
 * - Only looks.
 */
import { Command } from 'commander'
import { bytesAt, bytesWithLog, diskSpace } from '../../storage/disk/disk-use.ts'
import { type Home, homeAt } from '../../storage/disk/home.ts'
import { hasStore, storeBytes } from '../../storage/place.ts'
import { type RunDisk, runDisk } from '../../storage/run-disk.ts'
import { openStore } from '../../storage/store.ts'
import { type ReportOptions, reporting } from '../terminal/options.ts'
import { Table } from '../terminal/table.ts'
import { openTerminal } from '../terminal/terminal.ts'
import { bytes } from '../terminal/wording.ts'

/** `perdure disk`. */
export function diskCommand(): Command {
  return reporting(
    new Command('disk')
      .summary('show what runs take of the disk')
      .description(
        'Shows the disk use of each run by kind, that of the home for all runs, and the free space.',
      ),
    ['disk', 'disk --json'],
  ).action(async (options: ReportOptions) => {
    const terminal = openTerminal(options)
    const home = homeAt(options.home)
    const runs = await runsOf(home)
    const shared = await sharedOf(home)
    const space = await diskSpace(home.dir)
    const total = await bytesAt(home.dir)
    terminal.report({ home: home.dir, total, ...shared, free: space.free, disk: space.total, runs }, [
      ...(runs.length === 0 ? [] : [runsTable(runs), '']),
      `store ${bytes(shared.store)} · Temporal ${bytes(shared.temporal)} · logs ${bytes(shared.logs)} · environments and data ${bytes(shared.environments)}`,
      `${bytes(total)} in ${home.dir}; ${bytes(space.free)} of ${bytes(space.total)} are free`,
    ])
  })
}

interface RunUse extends RunDisk {
  readonly run: string
}

async function runsOf(home: Home): Promise<readonly RunUse[]> {
  if (!(await hasStore(home.storeFile))) return []
  await using store = await openStore(home.storeFile, { create: false, access: 'read' })
  const uses: RunUse[] = []
  for (const { id } of await store.runs.list()) uses.push({ run: id, ...(await runDisk(home, store, id)) })
  return uses
}

/** Bytes of what all runs share. */
async function sharedOf(home: Home): Promise<Record<'store' | 'temporal' | 'logs' | 'environments', number>> {
  return {
    store: (await hasStore(home.storeFile)) ? await storeBytes(home.storeFile) : 0,
    temporal: await bytesWithLog(home.temporalFile),
    logs: await bytesAt(home.logsDir),
    environments: (await bytesAt(home.environmentsDir)) + (await bytesAt(home.dataDir)),
  }
}

function runsTable(runs: readonly RunUse[]): Table {
  return new Table({
    head: ['run', 'checkpoints', 'batches', 'trajectories', 'other'],
    aligns: ['left', 'right', 'right', 'right', 'right'],
    rows: runs.map(({ run, checkpoints, batches, trajectories, other }) => [
      run,
      ...[checkpoints, batches, trajectories, other].map(bytes),
    ]),
  })
}
