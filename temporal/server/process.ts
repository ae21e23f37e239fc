/**
 * Processes that are not our children: whether they live, what they are, how they end.
 *
 * Invariants
 * - A process is ended only after its command line has shown that it serves the file in question, so
 *   a reused process id ends nobody else.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

/** A server writes its SQLite file back within seconds; afterwards it is hung. */
const politeMs = 10_000
const pollMs = 50

/** True while the process runs; a dead one that nobody has waited for does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
  if (process.platform !== 'linux') return true
  try {
    // The state follows the command name, which ends at the last parenthesis.
    const status = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return status.slice(status.lastIndexOf(')') + 2, status.lastIndexOf(')') + 3) !== 'Z'
  } catch {
    return false
  }
}

/** True when the process is a server on that file. */
export function servesFile(pid: number, database: string): boolean {
  return isAlive(pid) && commandLine(pid).includes(database)
}

/**
 * True when the process is a server on another file, as that of the home which this one is a copy of. The same file
 * under another name is not another one.
 */
export function servesAnotherFile(pid: number, database: string): boolean {
  const served = /\0--db-filename\0([^\0]+)/.exec(commandLine(pid))?.[1]
  if (served === undefined || served === database) return false
  const [theirs, ours] = [served, database].map((file) => statSync(file, { throwIfNoEntry: false }))
  return theirs?.ino !== ours?.ino || theirs?.dev !== ours?.dev
}

/** Ends the process: politely first. Settles when it has ended. */
export async function stopProcess(pid: number): Promise<void> {
  for (const [signal, patienceMs] of [
    ['SIGTERM', politeMs],
    ['SIGKILL', politeMs],
  ] as const) {
    try {
      process.kill(pid, signal)
    } catch {
      return
    }
    const deadline = performance.now() + patienceMs
    while (performance.now() < deadline) {
      if (!isAlive(pid)) return
      await delay(pollMs)
    }
  }
}

/** Ends the process at once. Settles when it has ended. */
export async function killProcess(pid: number): Promise<void> {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    return
  }
  const deadline = performance.now() + politeMs
  while (isAlive(pid) && performance.now() < deadline) await delay(pollMs)
}

/** Share of a processor that a process which works has had at least, on a busy machine too. */
const leastShare = 0.03
/** What works is not waited for longer either. */
const longestWorkMs = 120_000

/**
 * Tells of a process that does not answer whether it works all the same, as it does on a slow disk.
 * @returns what is asked with the milliseconds for which it has been silent
 */
export function isAtWork(pid: number): (silentMs: number) => boolean {
  const before = activityOf(pid)
  const since = performance.now()
  return (silentMs) => {
    const now = activityOf(pid)
    if (before === undefined || now === undefined || silentMs >= longestWorkMs || now.isStopped) return false
    const share = (now.cpuMs - before.cpuMs) / Math.max(1, performance.now() - since)
    return now.waitsForDisk || share >= leastShare
  }
}

interface Activity {
  readonly cpuMs: number
  readonly isStopped: boolean
  readonly waitsForDisk: boolean
}

/** @returns undefined where the system does not tell */
function activityOf(pid: number): Activity | undefined {
  if (process.platform !== 'linux') return undefined
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const [state = '', ...fields] = status.slice(status.lastIndexOf(')') + 2).split(' ')
    // utime and stime are the 14th and 15th field, the state is the 3rd; a tick is 10 ms.
    const cpuMs = 10 * (Number(fields[10]) + Number(fields[11]))
    return { cpuMs, isStopped: /[Tt]/.test(state), waitsForDisk: state === 'D' }
  } catch {
    return undefined
  }
}

function commandLine(pid: number): string {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    return execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' })
  } catch {
    return ''
  }
}
