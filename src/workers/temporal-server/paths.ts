/** Where the embedded server keeps its things: in the home directory, and the binary in the user's cache. */
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

export interface ServerPaths {
  readonly home: string
  readonly database: string
  readonly record: string
  readonly logs: string
  readonly log: string
  readonly locks: string
  readonly startLock: string
  readonly users: string
}

export function serverPaths(home: string): ServerPaths {
  const root = resolve(home)
  const locks = join(root, 'locks')
  return {
    home: root,
    database: join(root, 'temporal.db'),
    record: join(root, 'temporal.json'),
    logs: join(root, 'logs'),
    log: join(root, 'logs', 'temporal.log'),
    locks,
    startLock: join(locks, 'temporal-start'),
    users: join(locks, 'temporal-users'),
  }
}

/** `$XDG_CACHE_HOME/perdure`, else `~/.cache/perdure`. */
export function cacheFolder(): string {
  const base = process.env.XDG_CACHE_HOME
  return join(base !== undefined && base !== '' ? base : join(homedir(), '.cache'), 'perdure')
}
