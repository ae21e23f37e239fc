/**
 * CPU time of this process, by thread, and of another one.
 *
 * Invariants
 * - Times only grow; what a thread that has ended took is in the sum and in no thread.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'

/** CPU seconds so far. */
export interface CpuTime {
  readonly process: number
  readonly server: number
  /** By the names that the system knows threads of this process by; those of one name together. */
  readonly threads: ReadonlyMap<string, number>
}

/** @param server the process of Temporal's server; none: 0 */
export async function cpuTime(server: number | undefined): Promise<CpuTime> {
  const { user, system } = process.cpuUsage()
  return {
    process: (user + system) / 1e6,
    server: server === undefined ? 0 : await cpuSecondsOf(server),
    threads: threadTimes(),
  }
}

export function timeBetween(from: CpuTime, to: CpuTime): CpuTime {
  return combined(to, from, (after, before) => after - before)
}

export function timeTogether(one: CpuTime, other: CpuTime): CpuTime {
  return combined(one, other, (left, right) => left + right)
}

function combined(one: CpuTime, other: CpuTime, of: (one: number, other: number) => number): CpuTime {
  const names = new Set([...one.threads.keys(), ...other.threads.keys()])
  const time = (name: string) => of(one.threads.get(name) ?? 0, other.threads.get(name) ?? 0)
  return {
    process: of(one.process, other.process),
    server: of(one.server, other.server),
    // The time of a name before all of its threads ended is in the sum of the process alone.
    threads: new Map([...names].map((name) => [name, Math.max(0, time(name))])),
  }
}

/** Empty where the system has no `/proc`. */
function threadTimes(): ReadonlyMap<string, number> {
  const times = new Map<string, number>()
  if (process.platform !== 'linux') return times
  for (const thread of readdirSync('/proc/self/task')) {
    const status = statusOf(thread)
    if (status === undefined) continue
    const end = status.lastIndexOf(')')
    const name = status.slice(status.indexOf('(') + 1, end)
    const fields = status.slice(end + 2).split(' ')
    times.set(name, (times.get(name) ?? 0) + (Number(fields[11]) + Number(fields[12])) / 100)
  }
  return times
}

/** Undefined of a thread that has ended since it was listed. */
function statusOf(thread: string): string | undefined {
  try {
    return readFileSync(`/proc/self/task/${thread}/stat`, 'latin1')
  } catch (error) {
    if (
      (error as NodeJS.ErrnoException).code === 'ENOENT' ||
      (error as NodeJS.ErrnoException).code === 'ESRCH'
    )
      return undefined
    throw error
  }
}

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
