/**
 * Which process it was, and whether it is alive.
 *
 * Invariants
 * - A process is known by its number, its start, its PID namespace and the boot of the machine: a number alone is given
 *   again to others, and each container numbers its processes from 1.
 * - Fields that the system does not report are left out of the comparison.
 * - A process that has ended is dead, though its parent has not waited for it yet; one of another user is alive.
 * - [PROCESS-1] A process of another PID namespace is neither alive nor dead: from here it cannot be seen.
 * - Two processes never share a written identity; of a process on another machine, or of another boot, nothing is claimed.
 */
import { readFileSync, readlinkSync } from 'node:fs'
import { codeOf } from '../../faults/system-error.ts'

export interface ProcessIdentity {
  readonly pid: number
  /** Clock ticks from the boot to its start. */
  readonly start?: string | undefined
  readonly boot?: string | undefined
  /** The PID namespace in which the number counts, as the kernel numbers namespaces. */
  readonly namespace?: string | undefined
}

/** The system's status of a process. */
export interface ProcessStatus {
  /** One letter, as in proc(5). */
  readonly state: string
  readonly start: string
  /** Processor time in the process and in the kernel for it; a tick is 10 ms. */
  readonly cpuTicks: number
}

/** In a text the start is digits alone, since a boot may begin with a digit or hold a `b`. */
const identityText = /^p([0-9]+)s([0-9]+)b([0-9a-z]+?)(?:n([0-9]+))?$/
/** As written where the system tells of no start or boot. */
const unknown = { start: '0', boot: 'unknown' }

/** This process, on this boot of this machine. */
export function thisProcess(): ProcessIdentity {
  return processOf(process.pid)
}

/** The process that has this number now. */
export function processOf(pid: number): ProcessIdentity {
  return { pid, start: statusOf(pid)?.start, boot: bootId(), namespace: pidNamespace() }
}

/** An identity as a text of `[a-z0-9]+`, fit for names of files and for labels. */
export function writtenProcess({ pid, start, boot, namespace }: ProcessIdentity): string {
  const where = namespace === undefined ? '' : `n${namespace}`
  return `p${pid}s${start ?? unknown.start}b${boot ?? unknown.boot}${where}`
}

/** The identity in such a text; undefined for every other text. */
export function readProcess(text: string): ProcessIdentity | undefined {
  const [, pid, start, boot, namespace] = identityText.exec(text) ?? []
  if (pid === undefined) return undefined
  return {
    pid: Number(pid),
    start: start === unknown.start ? undefined : start,
    boot: boot === unknown.boot ? undefined : boot,
    namespace,
  }
}

/**
 * Whether a process of this machine is alive; one of an earlier boot is not.
 * @returns undefined for a process of another PID namespace
 */
export function isAlive({ pid, start, boot, namespace }: ProcessIdentity): boolean | undefined {
  // The system takes 0 and less for groups of processes.
  if (!Number.isSafeInteger(pid) || pid <= 0) return false
  if (!agree(boot, bootId())) return false
  if (!agree(namespace, pidNamespace())) return undefined
  const status = statusOf(pid)
  if (status !== undefined) return !/[ZXx]/.test(status.state) && agree(start, status.start)
  // No Linux, or a system that hides the processes of others.
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

function agree(one: string | undefined, other: string | undefined): boolean {
  return one === undefined || other === undefined || one === other
}

/** @returns undefined where there is no such process, or the system does not tell */
export function statusOf(pid: number): ProcessStatus | undefined {
  if (!areNumbersOurs() && pid !== process.pid) return undefined
  try {
    const stat = readFileSync(`/proc/${pid === process.pid ? 'self' : pid}/stat`, 'latin1')
    // The second field is the program's name in parentheses and may hold blanks; the state is the third.
    const [state = '', ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return { state, start: rest[18] ?? unknown.start, cpuTicks: Number(rest[10]) + Number(rest[11]) }
  } catch {
    return undefined
  }
}

let boot: { readonly id: string | undefined } | undefined

/** Names this boot of this machine; undefined where the system does not tell. */
export function bootId(): string | undefined {
  boot ??= { id: readBootId() }
  return boot.id
}

function readBootId(): string | undefined {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1')
      .replaceAll(/[^0-9a-f]/g, '')
      .slice(0, 12)
  } catch {
    return undefined
  }
}

/** Names the PID namespace of this process; undefined where the system does not tell. */
function pidNamespace(): string | undefined {
  return /^pid:\[([0-9]+)\]$/.exec(linkAt('/proc/self/ns/pid') ?? '')?.[1]
}

/** A `/proc` that was mounted outside of this PID namespace has other numbers, by which other processes would be seen. */
function areNumbersOurs(): boolean {
  return linkAt('/proc/self') === String(process.pid)
}

function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

/** Names this process on this boot of this machine. */
export function processScope(): string {
  return writtenProcess(thisProcess())
}

/**
 * Whether the process of such a scope is alive; undefined for other scopes, other machines, other boots and other PID
 * namespaces.
 */
export function processOfScopeAlive(scope: string): boolean | undefined {
  const owner = readProcess(scope)
  return owner === undefined || owner.boot !== bootId() ? undefined : isAlive(owner)
}
