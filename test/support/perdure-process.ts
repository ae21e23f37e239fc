/**
 * Perdure as a process, for tests that start, kill and resume it as a user would.
 *
 * Invariants
 * - Nothing outlives a test: `stop` ends the process group and the embedded server of the home.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { codeOf } from '../../faults/system-error.ts'

const program = fileURLToPath(new URL('../../bin/perdure.mjs', import.meta.url))

export interface Ending {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A home directory of its own. */
export function temporaryHome(): string {
  return mkdtempSync(join(tmpdir(), 'perdure-test-'))
}

/** A running command. */
export interface PerdureProcess {
  readonly child: ChildProcess
  readonly ended: Promise<Ending>
  output(): string
  /** `kill -9` of the whole process group. */
  killGroup(): Promise<void>
}

/** Starts a command in a process group of its own. */
export function startPerdure(home: string, ...words: string[]): PerdureProcess {
  return startPerdureIn({}, home, ...words)
}

/** The same with variables of its own beside those of this process. */
export function startPerdureIn(
  env: Readonly<Record<string, string>>,
  home: string,
  ...words: string[]
): PerdureProcess {
  const child = spawn(process.execPath, [program, ...words, '--home', home], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NO_COLOR: '1', ...env },
  })
  let stdout = ''
  let stderr = ''
  child.stdout?.on('data', (chunk: Buffer) => {
    stdout += chunk.toString()
  })
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
  })
  const ended = new Promise<Ending>((resolve) => {
    child.once('close', (code) => resolve({ code, stdout, stderr }))
  })
  return {
    child,
    ended,
    output: () => stdout + stderr,
    async killGroup() {
      const isRunning = child.exitCode === null && child.signalCode === null
      if (child.pid !== undefined && isRunning) process.kill(-child.pid, 'SIGKILL')
      await ended
    },
  }
}

/** The pid of the embedded server of a home, if one runs. */
export function serverPid(home: string): number | undefined {
  const file = join(home, 'temporal.json')
  if (!existsSync(file)) return undefined
  const { pid } = JSON.parse(readFileSync(file, 'utf8')) as { pid?: number }
  return pid
}

/** `kill -9` of the embedded server. */
export function killServer(home: string): void {
  const pid = serverPid(home)
  if (pid === undefined) return
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error
  }
}

/** Ends whatever is left of a home and deletes it. */
export function removeHome(home: string): void {
  killServer(home)
  rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
}

/** To look takes a query of a run, or a reading of its store: what is long in coming is asked for less often. */
const longestWaitMs = 150

/** Waits until the condition gives a value. @throws Error after the deadline, with the reason */
export async function eventually<T>(
  what: string,
  look: () => T | undefined | Promise<T | undefined>,
  deadlineMs = 120_000,
): Promise<T> {
  const until = Date.now() + deadlineMs
  for (let waitMs = 25; ; waitMs = Math.min(1.5 * waitMs, longestWaitMs)) {
    const found = await look()
    if (found !== undefined) return found
    if (Date.now() > until) throw new Error(`waited ${deadlineMs / 1000} s for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, waitMs))
  }
}
