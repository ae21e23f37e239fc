/**
 * Bundles of workflow code kept in the user's cache, so that a process starts in half the time.
 *
 * Invariants
 * - A kept bundle is used only while each file that it was made from is the same to the byte, and each that was
 *   looked for and not found is still not there.
 * - A bundle that is damaged, or a cache that cannot be written, costs the time of bundling and nothing else.
 * - The cache does not grow: the oldest bundles are removed.
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { makeFolder } from '../../machine/files/folder.ts'
import { chance } from '../../machine/services/chance.ts'

/** Sources of a bundle, as the bundler reports them. */
export interface BundleSources {
  /** Files that were read. */
  readonly files: Iterable<string>
  /** Files that would have been read if they had been there. */
  readonly absent: Iterable<string>
}

const entrySchema = z.object({
  files: z.array(z.tuple([z.string(), z.string()])),
  absent: z.array(z.string()),
  code: z.string(),
  codeDigest: z.string(),
  build: z.string(),
})
type Entry = z.infer<typeof entrySchema>
export type KeptBundle = Pick<Entry, 'code' | 'build'>

/** Kinds of bundles times some checkouts and versions. */
const keptAtMost = 12

/** Keeps bundles in a folder, each under the text that it was asked for by. */
export function bundleCache(folder: string) {
  const fileOf = (asked: string) => join(folder, `${digest(asked).slice(0, 24)}.json`)
  return {
    /** The kept bundle, unless one of its sources has changed. */
    find(asked: string): KeptBundle | undefined {
      const entry = read(fileOf(asked))
      return entry !== undefined && isCurrent(entry) ? { code: entry.code, build: entry.build } : undefined
    },

    keep(asked: string, { code, build }: KeptBundle, { files, absent }: BundleSources): void {
      const read: [string, string][] = []
      const missing = [...absent]
      for (const file of files) {
        const found = digestOf(file)
        if (found !== undefined) read.push([file, found])
        // The bundler also names folders, and its own entry, which is no file and follows from `asked`.
        else if (!existsSync(file)) missing.push(file)
      }
      write(fileOf(asked), { files: read, absent: missing, code, codeDigest: digest(code), build })
    },
  }

  function write(file: string, entry: Entry): void {
    const beside = `${file}.${chance.uuid()}.partial`
    try {
      makeFolder(folder)
      writeFileSync(beside, JSON.stringify(entry))
      renameSync(beside, file)
      prune()
    } catch {
      // A cache is no reason to fail; the next process bundles again.
      removed(beside)
    }
  }

  function prune(): void {
    const kept = readdirSync(folder)
      .filter((name) => name.endsWith('.json'))
      .map((name) => join(folder, name))
      .map((file) => ({ file, written: statSync(file).mtimeMs }))
      .sort((a, b) => b.written - a.written)
    for (const { file } of kept.slice(keptAtMost)) rmSync(file, { force: true })
  }
}

function removed(file: string): void {
  try {
    rmSync(file, { force: true })
  } catch {
    // Where nothing can be written there is nothing to remove.
  }
}

function read(file: string): Entry | undefined {
  try {
    const { success, data } = entrySchema.safeParse(JSON.parse(readFileSync(file, 'utf8')))
    return success && digest(data.code) === data.codeDigest ? data : undefined
  } catch {
    return undefined
  }
}

function isCurrent({ files, absent }: Entry): boolean {
  return !absent.some((file) => existsSync(file)) && files.every(([file, was]) => digestOf(file) === was)
}

/** Undefined where the file cannot be read. */
function digestOf(file: string): string | undefined {
  try {
    return digest(readFileSync(file))
  } catch {
    return undefined
  }
}

function digest(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}
