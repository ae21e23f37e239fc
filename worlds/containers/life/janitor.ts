/**
 * The janitor of a process: a second process, which removes the first one's containers when that has ended.
 *
 * A container ends by itself with its owner (`container-settings.ts`), but not one that was never started, or that is paused.
 *
 * Invariants
 * - The janitor learns of the end by the pipe between both, which the system closes however a process ends.
 * - `close` ends the janitor, and it removes nothing.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface Janitor {
  close(): Promise<void>
}

/** Written by `close`, so that the end of the pipe does not look like a death. */
export const farewell = 'closed'

/**
 * @param owner label of the containers
 * @param address of their engine, as it was given
 * @param log hears where there can be no janitor
 */
export function startJanitor(
  owner: string,
  address: string | undefined,
  log: (line: string) => void,
): Janitor {
  const program = fileURLToPath(new URL(`./janitor-process${extname(import.meta.url)}`, import.meta.url))
  // It gets a session of its own: a signal to a terminal's or a supervisor's group would end both.
  const child = spawn(process.execPath, [program, owner, ...(address === undefined ? [] : [address])], {
    detached: true,
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore'],
    env: { ...process.env, NODE_OPTIONS: '' },
  })
  const ended = once(child, 'exit').catch(() => undefined)
  let closing = false
  child.on('error', (error) => log(`no process could be started that removes containers: ${error.message}`))
  child.on('exit', (code) => {
    if (!closing) log(`the process that removes containers has ended (${code})`)
  })
  // The end of a janitor is reported above.
  child.stdin.on('error', () => undefined)
  // It is no reason for this process to stay.
  child.unref()
  ;(child.stdin as Socket).unref()
  return {
    async close() {
      closing = true
      child.ref()
      child.stdin.end(farewell)
      await ended
    },
  }
}
