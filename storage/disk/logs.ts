/**
 * Log files of a home: which are too long, and shortening them.
 *
 * Invariants
 * - The end of a log stays: it tells what happened last.
 * - The file stays the same file, so that processes which append to it continue doing so.
 */
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { bytesAt, namesIn } from './disk-use.ts'
import { storageFaultOf } from './fault.ts'

/** Share of the limit that is left of a log. */
const keptShare = 0.5

export interface LongLog {
  readonly file: string
  /** Bytes that go. */
  readonly bytes: number
}

/** Logs beyond the limit. @param limit bytes of one file */
export async function longLogs(folder: string, limit: number): Promise<LongLog[]> {
  const logs: LongLog[] = []
  for (const name of await namesIn(folder)) {
    const file = join(folder, name)
    const size = await bytesAt(file)
    if (size > limit) logs.push({ file, bytes: size - Math.floor(limit * keptShare) })
  }
  return logs
}

/** Takes bytes away from the beginning of a log. @throws StorageFault */
export async function shortenLog({ file, bytes }: LongLog): Promise<void> {
  try {
    await using log = await open(file, 'r+')
    const { size } = await log.stat()
    const end = Buffer.alloc(Math.max(0, size - bytes))
    const { bytesRead } = await log.read(end, 0, end.length, size - end.length)
    await log.truncate(0)
    const firstLine = end.indexOf('\n') + 1
    await log.write(end, firstLine, bytesRead - firstLine, 0)
  } catch (error) {
    throw storageFaultOf(error, `log ${file}`)
  }
}
