/**
 * Checkpoints kept in a folder under what they follow from, to be taken in place of being made again.
 *
 * Invariants
 * - [CACHE-1] A checkpoint is taken as it was kept, to the byte: each file is checked before one is used.
 * - [CACHE-2] An entry that is damaged is named, not taken, and replaced by the next that is kept under its key.
 * - [CACHE-3] The folder does not grow beyond its bound: the entries unused for the longest time go first.
 * - A folder that cannot be read or written costs the making and nothing else.
 */
import { existsSync } from 'node:fs'
import { readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { reasonOf } from '../../faults/reason.ts'
import { makeFolder } from '../../machine/files/folder.ts'
import { nameBeside } from '../../machine/processes/partial-file.ts'
import { CheckpointFault } from '../files/checkpoint-fault.ts'
import { verifyCheckpoint } from './checkpoint.ts'
import { copyCheckpoint } from './copying.ts'
import { manifestFile } from './manifest.ts'

/** Some hundred small policies, or a few of the largest that a processor trains. */
const defaultMostBytes = 4 * 2 ** 30

const keyPattern = /^[0-9a-f]{64}$/

export interface CheckpointCache {
  /** Publishes what is kept under the key. @returns whether there was something @throws CheckpointFault `io` of the target */
  take(key: string, toDir: string): Promise<boolean>
  /** Keeps a checkpoint under the key. */
  keep(key: string, dir: string): Promise<void>
}

export function checkpointCache(
  folder: string,
  options: { readonly log: (line: string) => void; readonly mostBytes?: number },
): CheckpointCache {
  const { log, mostBytes = defaultMostBytes } = options

  /** Whether there is one that can be used. */
  async function isEntry(dir: string): Promise<boolean> {
    if (!existsSync(join(dir, manifestFile))) return false
    try {
      await verifyCheckpoint(dir)
      return true
    } catch (error) {
      if (!(error instanceof CheckpointFault)) throw error
      log(`${error.message}; it is made again`)
      return false
    }
  }

  return {
    async take(key, toDir) {
      const entry = join(folder, key)
      if (!(await isEntry(entry))) return false
      await copyCheckpoint(entry, toDir)
      const now = new Date()
      // Where the cache cannot be written, nothing is removed from it either.
      await utimes(entry, now, now).catch(() => undefined)
      return true
    },

    async keep(key, dir) {
      try {
        if ((await bytesIn(dir)) > mostBytes) return
        makeFolder(folder)
        await copyCheckpoint(dir, join(folder, key))
        await prune(folder, mostBytes)
      } catch (error) {
        log(`${dir} could not be kept in ${folder}: ${reasonOf(error)}`)
      }
    },
  }
}

async function prune(folder: string, mostBytes: number): Promise<void> {
  const names = (await readdir(folder)).filter((name) => keyPattern.test(name))
  const entries = await Promise.all(
    names.map(async (name) => {
      const dir = join(folder, name)
      return { dir, bytes: await bytesIn(dir), used: (await stat(dir)).mtimeMs }
    }),
  )
  let kept = 0
  for (const { dir, bytes } of entries.sort((a, b) => b.used - a.used)) {
    kept += bytes
    if (kept <= mostBytes) continue
    // At once for those who read it; what a killed process leaves of the rest is removed by the next that keeps.
    const beside = nameBeside(dir)
    await rename(dir, beside)
    await rm(beside, { recursive: true, force: true })
  }
}

async function bytesIn(dir: string): Promise<number> {
  const sizes = await Promise.all(
    (await readdir(dir)).map(async (name) => (await stat(join(dir, name))).size),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}
