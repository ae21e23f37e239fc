/**
 * The memory and CPU time of another process, from `/proc`; not a number where the system has none.
 */
import { readFile } from 'node:fs/promises'

/** CPU seconds so far; every Linux counts them in hundredths. */
export async function cpuSecondsOf(pid: number): Promise<number> {
  if (process.platform !== 'linux') return Number.NaN
  const status = await readFile(`/proc/${pid}/stat`, 'latin1')
  // Fields 14 and 15, counted from the state, which is field 3 and follows the command's name.
  const fields = status.slice(status.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

/** Resident megabytes. */
export async function residentMegabytesOf(pid: number): Promise<number> {
  if (process.platform !== 'linux') return Number.NaN
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? Number.NaN) / 1000
}
