/**
 * A store that is gone or empty while directories of its runs are there.
 *
 * Invariants
 * - Such a home is never taken for a new one: a run of an old name would take up the checkpoints of another.
 */
import { readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { StorageFault, storageFaultOf } from './fault.ts'
import { homeAt } from './home.ts'

/** At most so many names of a list are printed. */
const printed = 5

/** The fault of a store's file; undefined where it holds something, or there are no runs beside it. */
export function lostStore(file: string): StorageFault | undefined {
  const found = statSync(file, { throwIfNoEntry: false })
  if (found !== undefined && found.size > 0) return undefined
  const { runsDir } = homeAt(dirname(file))
  const runs = entriesOf(runsDir).filter((run) => hasWork(join(runsDir, run)))
  if (runs.length === 0) return undefined
  const names = `${runs.slice(0, printed).join(', ')}${runs.length > printed ? ', …' : ''}`
  const what = found === undefined ? 'is missing' : 'is empty (0 bytes)'
  return new StorageFault(
    'missing',
    `store ${file} ${what}, though there are directories of runs: ${names}; restore a backup, or move ${runsDir} away and start over (their checkpoints can be used with policy.from)`,
  )
}

/** Directories are made before there is anything in them. */
function hasWork(run: string): boolean {
  return entriesOf(run).includes('metrics.jsonl') || entriesOf(join(run, 'checkpoints')).length > 0
}

function entriesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    const fault = storageFaultOf(error, folder)
    if (fault.kind === 'missing' || fault.kind === 'not_a_directory') return []
    throw fault
  }
}
