/**
 * A small disk of its own for a home, so that it can be filled without harm to anybody else.
 *
 * Invariants
 * - It is unmounted and its folder removed by `remove`, whatever is on it.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '../../faults/system-error.ts'

export interface SmallDisk {
  readonly folder: string
  /** Takes all the room that is left, but for so many bytes. */
  fill(leaving?: number): void
  /** Gives back what was taken. */
  empty(): void
  remove(): void
}

/**
 * @param megabytes room for a long run, and quickly filled
 * @returns why there can be none, where there can be none
 */
export function mountSmallDisk(folder: string, megabytes = 768): SmallDisk | string {
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    return 'a small disk needs Linux and the superuser'
  mkdirSync(folder, { recursive: true })
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder], { stdio: 'pipe' })
  } catch (error) {
    return `a small disk cannot be mounted here: ${String(error).split('\n')[0]}`
  }
  const filler = join(folder, 'filler')
  return {
    folder,
    fill(leaving = 0) {
      const { bavail, bsize } = statfsSync(folder)
      // Piece by piece: others write meanwhile, and the last piece may find no room any more.
      const piece = Buffer.alloc(1024 * 1024)
      try {
        for (let left = bavail * bsize - leaving; left > 0; left -= piece.length)
          writeFileSync(filler, piece.subarray(0, Math.min(left, piece.length)), { flag: 'a' })
      } catch (error) {
        if (codeOf(error) !== 'ENOSPC') throw error
      }
    },
    empty: () => rmSync(filler, { force: true }),
    remove() {
      execFileSync('umount', ['--lazy', folder], { stdio: 'pipe' })
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
