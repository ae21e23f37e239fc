/**
 * A disk of a file system's own for tests, in a file of this machine: what is written to it takes as much as on a real one.
 *
 * Invariants
 * - It is unmounted and its file removed by `remove`, whatever is on it.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, statfsSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { reasonOf } from '../../faults/reason.ts'

export interface LoopDisk {
  readonly folder: string
  /** Bytes that root may still write. */
  free(): number
  remove(): void
}

const makers = { ext4: ['mkfs.ext4', '-q', '-F'], btrfs: ['mkfs.btrfs', '-q', '-f'] } as const

/** @returns why there can be none, where there can be none */
export function mountLoopDisk(kind: keyof typeof makers, bytes: number): LoopDisk | string {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'a disk in a file needs Linux and root'
  const parent = mkdtempSync(join(tmpdir(), 'perdure-loop-'))
  const image = join(parent, 'image')
  const folder = join(parent, 'disk')
  const [program, ...words] = makers[kind]
  const run = (name: string, args: readonly string[]) => execFileSync(name, args, { stdio: 'pipe' })
  try {
    writeFileSync(image, '')
    truncateSync(image, bytes)
    run(program, [...words, image])
    run('mkdir', [folder])
    run('mount', ['-o', 'loop', image, folder])
  } catch (error) {
    rmSync(parent, { recursive: true, force: true })
    return `a disk of ${kind} cannot be made here: ${reasonOf(error).split('\n')[0]}`
  }
  return {
    folder,
    free() {
      const { bfree, bsize } = statfsSync(folder)
      return bfree * bsize
    },
    remove() {
      run('umount', ['--lazy', folder])
      rmSync(parent, { recursive: true, force: true })
    },
  }
}
