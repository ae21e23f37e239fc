/**
 * `temporal.json` of a home directory: where its server listens and which process it is.
 *
 * Invariants
 * - The file is replaced as a whole; a reader sees an old record or a new one, never half of one.
 * - A record that cannot be read counts as none: it only saves work.
 * - A stopped server's record keeps its ports, so links and worker configurations stay right.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { z } from 'zod'

const port = z.int().min(1).max(65535)
const recordSchema = z.object({
  /** Absent when the server was stopped in order. */
  pid: z.int().positive().optional(),
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
  const beside = `${file}.${process.pid}.new`
  writeFileSync(beside, `${JSON.stringify(record, undefined, 2)}\n`)
  renameSync(beside, file)
}
