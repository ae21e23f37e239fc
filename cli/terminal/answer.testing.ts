/**
 * What the program says to a call in the test's own process, where it takes no second to load.
 *
 * Invariants
 * - One call at a time: what it says is what the process says meanwhile.
 * - The exit code is the call's, and no later one's, nor that of the test's process.
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
