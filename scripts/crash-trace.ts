/**
 * Reports of native crashes: the stacks of its threads, from the core that it left.
 *
 * Invariants
 * - [CRASH-TRACE-1] A core is reported once and removed.
 * - Where no core is written to the folder or no gdb is installed, nothing is reported and nothing fails.
 */
import { spawnSync } from 'node:child_process'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** A command with its arguments, whose processes leave cores where the system allows it. */
export function leavingCores(command: string, args: readonly string[]): [string, readonly string[]] {
  return process.platform === 'linux'
    ? ['sh', ['-c', 'ulimit -c unlimited 2>/dev/null; exec "$0" "$@"', command, ...args]]
    : [command, args]
}

/** Prints the stacks of every core of Node in the folder. */
export function reportCrashes(folder: string, print: (text: string) => void = console.log): void {
  for (const name of readdirSync(folder).filter((name) => /^core(\.\d+)?$/.test(name))) {
    const core = join(folder, name)
    const command = 'thread apply all backtrace 24'
    const { stdout } = spawnSync('gdb', ['-batch', '-ex', command, process.execPath, core], {
      encoding: 'utf8',
    })
    rmSync(core)
    if (stdout) print(`A process crashed in native code. Its threads:\n${stdout}`)
  }
}
