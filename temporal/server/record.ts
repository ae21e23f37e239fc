/**
 * The files of the embedded server in a home directory, and its `temporal.json`: where it listens and which process it is.
 *
 * Invariants
 * - The file is replaced as a whole; a reader sees an old record or a new one, never half of one.
 * - A record that cannot be read counts as none: it only saves work.
 * - A stopped server's record keeps its ports, so links and worker configurations stay right.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { processScope } from '../../machine/processes/process.ts'
import { homeAt } from '../../storage/disk/home.ts'

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

const port = z.int().min(1).max(65535)
const recordSchema = z.object({
  /** Absent when the server was stopped in order. */
  pid: z.int().positive().optional(),
  /** The same process in a text, which says in which PID namespace that number counts. */
  process: z.string().optional(),
  port,
  uiPort: port,
  /** Identity of the server's file; tells this home's server from another on the same port. */
  clusterId: z.string().optional(),
  serverVersion: z.string(),
})

export type ServerRecord = z.output<typeof recordSchema>

/** @returns undefined when there is none, or none that can be read */
export function readRecord(file: string): ServerRecord | undefined {
  try {
    return recordSchema.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    return undefined
  }
}

export function writeRecord(file: string, record: ServerRecord): void {
  const beside = `${file}.${processScope()}.new`
  writeFileSync(beside, `${JSON.stringify(record, undefined, 2)}\n`)
  renameSync(beside, file)
}
