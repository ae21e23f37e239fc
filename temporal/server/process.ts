/**
 * Processes that are not our children: whether they live, what they are, how they end.
 *
 * Invariants
 * - A process is ended only after its command line has shown that it serves the file in question, so
 *   a reused process id ends no other process.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { isAlive, processOf, statusOf } from '../../machine/processes/process.ts'
import { clock } from '../../machine/services/clock.ts'

/** A server writes its SQLite file back within seconds; afterwards it is hung. */
const endMs = 10_000
const pollMs = 50

/** Unknown to the server. Its own argument is relative and cannot tell the homes of a machine apart. */
const fileMark = 'perdure.file='

/**
 * The arguments that put a server on a file, for a process whose working directory is the file's folder. The server makes
 * an address of the name it is given, in which `#`, `?` and `%` have a meaning: with an absolute path such a folder would
 * move the file out of the home.
 */
export function fileArguments(database: string): readonly string[] {
  const mark = `${fileMark}${JSON.stringify(database)}`
  return ['--db-filename', basename(database), '--dynamic-config-value', mark]
}

/** True when the process is a server on that file. */
export function servesFile(pid: number, database: string): boolean {
  if (!isAlive({ pid })) return false
  return commandLine(pid).includes(JSON.stringify(database))
}

/**
 * True when the process is a server on another file, as that of the home which this one is a copy of. The same file
 * under another name is not another one.
 */
export function servesAnotherFile(pid: number, database: string): boolean {
  const served = servedFile(commandLine(pid))
  if (served === undefined || served === database) return false
  const [theirs, ours] = [served, database].map((file) => statSync(file, { throwIfNoEntry: false }))
  return theirs?.ino !== ours?.ino || theirs?.dev !== ours?.dev
}

function servedFile(line: string): string | undefined {
  const marked = /\0perdure\.file=([^\0]+)/.exec(line)?.[1]
  return marked === undefined ? undefined : String(JSON.parse(marked))
}

/** Ends the process: politely first. Settles when it has ended. */
export async function stopProcess(pid: number): Promise<void> {
  if (!(await endProcess(pid, 'SIGTERM'))) await killProcess(pid)
}

/** Ends the process at once. Settles when it has ended. */
export async function killProcess(pid: number): Promise<void> {
  await endProcess(pid, 'SIGKILL')
}

/** @returns whether it ended within the time */
async function endProcess(pid: number, signal: 'SIGTERM' | 'SIGKILL'): Promise<boolean> {
  const meant = processOf(pid)
  try {
    process.kill(pid, signal)
  } catch {
    return true
  }
  const deadline = clock.monotonic() + endMs
  while (isAlive(meant)) {
    if (clock.monotonic() >= deadline) return false
    await clock.sleep(pollMs)
  }
  return true
}

/** Share of a processor that a process which works has had at least, on a busy machine too. */
const leastShare = 0.03
/** The longest wait even for a process that is still working. */
const longestWorkMs = 120_000
const tickMs = 10

/**
 * Tells of a process that does not answer whether it works all the same, as it does on a slow disk.
 * @returns what is asked with the milliseconds for which it has been silent
 */
export function isAtWork(pid: number): (silentMs: number) => boolean {
  const before = statusOf(pid)
  const since = clock.monotonic()
  return (silentMs) => {
    const now = statusOf(pid)
    const isStopped = now !== undefined && /[Tt]/.test(now.state)
    if (before === undefined || now === undefined || silentMs >= longestWorkMs || isStopped) return false
    const cpuMs = tickMs * (now.cpuTicks - before.cpuTicks)
    const waitsForDisk = now.state === 'D'
    return waitsForDisk || cpuMs / Math.max(1, clock.monotonic() - since) >= leastShare
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
