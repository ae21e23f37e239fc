/**
 * Official games in the compact layout: a compressed file per split, a game per line.
 *
 * Invariants
 * - A split cut short gives the games before the cut, and a warning.
 * - Games wait compressed: the training split takes about 25 MB instead of 191.
 */
import { createReadStream } from 'node:fs'
import path from 'node:path'
import { constants, createGunzip, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { z } from 'zod'
import { reasonOf } from '../../faults/reason.ts'
import type { GameSource } from '../../worlds/text-adventure/game.ts'
import { EnvironmentFault } from '../contract/environment.ts'

const gameLine = z.object({
  id: z.string(),
  task: z.string(),
  walkthrough: z.array(z.string()).optional(),
  pddl_problem: z.string(),
})

/** The texts that all games have in common. */
interface SharedTexts {
  readonly domain: string
  readonly grammar: string
}

/** The games of all files; those that cannot be used are added to `warnings`. */
export async function* readCompactSplits(
  files: readonly string[],
  shared: SharedTexts,
  warnings: string[],
): AsyncIterable<GameEntry> {
  for (const file of files) {
    try {
      yield* readSplit(file, shared, warnings)
    } catch (cause) {
      warnings.push(`${file}: what follows is left out: ${reasonOf(cause)}`)
    }
  }
}

async function* readSplit(file: string, shared: SharedTexts, warnings: string[]): AsyncIterable<GameEntry> {
  const split = path.basename(file, '.jsonl.gz')
  let number = 0
  for await (const { line, whole } of linesOf(file)) {
    number++
    const where = `${file}, line ${number}`
    const id = quickId(line) ?? slowId(line)
    if (id?.startsWith(`${split}/`)) {
      const packed = zstdCompressSync(line, { params: { [constants.ZSTD_c_compressionLevel]: 1 } })
      yield { id, read: () => readLine(zstdDecompressSync(packed), where, shared) }
    } else if (whole) warnings.push(`${where} is left out: it is no game of ${split}`)
    else warnings.push(`${where} is left out: the file is cut short here`)
  }
}

async function* linesOf(file: string): AsyncIterable<{ readonly line: Buffer; readonly whole: boolean }> {
  // Flushing at the end gives what a file cut short still holds, instead of an error.
  const unzip = createGunzip({ finishFlush: constants.Z_SYNC_FLUSH, chunkSize: 1 << 20 })
  let parts: Buffer[] = []
  for await (const chunk of createReadStream(file)
    .on('error', (cause) => unzip.destroy(cause))
    .pipe(unzip)) {
    const bytes: Buffer = chunk
    let start = 0
    for (let end = bytes.indexOf('\n'); end >= 0; end = bytes.indexOf('\n', start)) {
      parts.push(bytes.subarray(start, end))
      yield { line: Buffer.concat(parts), whole: true }
      parts = []
      start = end + 1
    }
    if (start < bytes.length) parts.push(bytes.subarray(start))
  }
  if (parts.length > 0) yield { line: Buffer.concat(parts), whole: false }
}

/** @throws Error for bytes that are no text, which would become other characters without a word */
function textOf(line: Buffer): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(line)
}

/** The id of a line that starts with it and is whole, without reading all of it. */
function quickId(line: Buffer): string | undefined {
  if (line.at(-1) !== '}'.charCodeAt(0)) return undefined
  return /^\{"id": ?"([^"\\]+)"/.exec(line.toString('utf8', 0, 400))?.[1]
}

function slowId(line: Buffer): string | undefined {
  try {
    const read = gameLine.safeParse(JSON.parse(textOf(line)))
    return read.success ? read.data.id : undefined
  } catch {
    return undefined
  }
}

function readLine(line: Buffer, where: string, shared: SharedTexts): GameSource {
  try {
    const { id, task, walkthrough, pddl_problem } = gameLine.parse(JSON.parse(textOf(line)))
    return { id, ...shared, problem: pddl_problem, task, walkthrough }
  } catch (cause) {
    throw new EnvironmentFault('bad_data', `alfworld data: ${where} is no game; get the file again`, {
      cause,
    })
  }
}

/** One game that can be read. */
export interface GameEntry {
  readonly id: string
  /** @throws EnvironmentFault bad_data, naming the file */
  read(): GameSource
}
