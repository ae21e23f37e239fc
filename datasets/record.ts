/**
 * The record of the files that were pulled into a folder.
 *
 * Invariants
 * - The record is replaced as a whole, and only after what it tells of is in place.
 * - A folder without a record, or with one that cannot be read, counts as one that nothing was pulled into.
 */
import { readFile, rename, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'

const recordSchema = z.object({
  task: z.string(),
  version: z.string(),
  licence: z.string(),
  /** True when every source was pulled. */
  complete: z.boolean(),
  updated: z.iso.datetime(),
  /** Downloads by path. `pinned`: the hash was known before; otherwise it is that of the first pull. */
  sources: z.record(z.string(), z.object({ sha256: z.string(), pinned: z.boolean(), address: z.string() })),
  /** Bytes of each file by its path in the folder. */
  files: z.record(z.string(), z.int()),
})

export type DataRecord = z.output<typeof recordSchema>

// No .json: some loaders take every such file for data.
const fileName = '.perdure-data'

export async function readRecord(folder: string): Promise<DataRecord | undefined> {
  try {
    return recordSchema.parse(JSON.parse(await readFile(path.join(folder, fileName), 'utf8')))
  } catch {
    return undefined
  }
}

export async function writeRecord(folder: string, record: DataRecord): Promise<void> {
  const file = path.join(folder, fileName)
  await writeFile(`${file}.part`, JSON.stringify(record))
  await rename(`${file}.part`, file)
}
