/**
 * Runs the program in the test's own process, without the second that a new process takes to load.
 *
 * Invariants
 * - One call at a time: all output of the process meanwhile counts as the call's.
 * - The exit code is the call's; the test process keeps its own.
 */
import { vi } from 'vitest'
import { runCommandLine } from '../program.ts'

export interface Answer {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export async function answerTo(...words: readonly string[]): Promise<Answer> {
  let [stdout, stderr] = ['', '']
  const spies = [
    vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
      stdout += String(text)
      return true
    }),
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
      stderr += String(text)
      return true
    }),
  ]
  const before = process.exitCode
  process.exitCode = undefined
  try {
    const code = await runCommandLine([...words])
    return { code, stdout, stderr }
  } finally {
    process.exitCode = before
    for (const spy of spies) spy.mockRestore()
  }
}
