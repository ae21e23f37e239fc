/** Where the embedded server keeps its things in the home directory. */
import { join } from 'node:path'
import { homeAt } from '../../storage/home.ts'

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
  const { dir, temporalFile, logsDir } = homeAt(home)
  const locks = join(dir, 'locks')
  return {
    home: dir,
    database: temporalFile,
    record: join(dir, 'temporal.json'),
    logs: logsDir,
    log: join(logsDir, 'temporal.log'),
    locks,
    startLock: join(locks, 'temporal-start'),
    users: join(locks, 'temporal-users'),
  }
}
