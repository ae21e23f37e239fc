/**
 * A small disk of its own for a home, which can be filled, and can lose its power, without harm to anything else.
 *
 * Invariants
 * - It is unmounted and its folder removed by `remove`, whatever is on it.
 * - After `cutPower` nothing reaches it any more: what had not been written by then is gone, as by a real power cut, and no order
 *   of writes is broken that the file system keeps. `boot` mounts what was left.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync, rmSync, statfsSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '../../faults/system-error.ts'

export const fileSystems = ['ext4', 'xfs'] as const
export type FileSystem = (typeof fileSystems)[number]

export interface SmallDisk {
  readonly folder: string
  /** Takes all the room that is left except so many bytes. */
  fill(leaving?: number): void
  /** Gives back what was taken. */
  empty(): void
  remove(): void
}

/** A disk with a file system that survives its power. */
export interface PoweredDisk extends SmallDisk {
  readonly fileSystem: FileSystem
  cutPower(): void
  boot(): void
}

/** Room for a long run, and quickly filled; xfs needs 300. */
const usualMegabytes = 768

/** @returns why there can be none, where there can be none */
export function mountSmallDisk(folder: string, megabytes = usualMegabytes): SmallDisk | string {
  return (
    obstacle() ??
    tried(() => {
      mkdirSync(folder, { recursive: true })
      run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder])
      return smallDisk(folder)
    })
  )
}

/**
 * A disk in a file beside its folder.
 * @returns why there can be none, where there can be none
 */
export function mountPoweredDisk(folder: string, fileSystem: FileSystem): PoweredDisk | string {
  return obstacle() ?? tried(() => poweredDisk(folder, fileSystem))
}

function poweredDisk(folder: string, fileSystem: FileSystem): PoweredDisk {
  const image = `${folder}.${fileSystem}`
  // XFS refuses a copy beside a file system that is still being unmounted, for they have one name.
  const options = fileSystem === 'xfs' ? 'loop,nouuid' : 'loop'
  const mount = () => run('mount', ['-o', options, image, folder])
  // Lazily: a process that is being ended may still have a file open, on what cannot be written any more.
  const unmount = () => run('umount', ['--lazy', folder])
  mkdirSync(folder, { recursive: true })
  writeFileSync(image, '')
  truncateSync(image, usualMegabytes * 1024 * 1024)
  // Without a reserve for the superuser, under whom the processes run.
  run(`mkfs.${fileSystem}`, fileSystem === 'ext4' ? ['-q', '-F', '-m', '0', image] : ['-q', '-f', image])
  mount()
  const { remove, ...disk } = smallDisk(folder)
  return {
    ...disk,
    fileSystem,
    cutPower: () => run('python3', ['-c', shutDown, folder]),
    boot() {
      unmount()
      // The system would mount the dead file system once more while a file of it is open; it does not know the copy.
      run('cp', ['--sparse=always', image, `${image}.copy`])
      renameSync(`${image}.copy`, image)
      mount()
    },
    remove() {
      remove()
      rmSync(image, { force: true })
    },
  }
}

/** XFS_IOC_GOINGDOWN, which ext4 has under the same number, without a last flush of the log. */
const shutDown = `
import fcntl, os, struct, sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, struct.pack('I', 2))
`

function smallDisk(folder: string): SmallDisk {
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
      run('umount', ['--lazy', folder])
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function obstacle(): string | undefined {
  return process.platform !== 'linux' || process.getuid?.() !== 0
    ? 'a small disk needs Linux and the superuser'
    : undefined
}

function tried<Disk>(mounted: () => Disk): Disk | string {
  try {
    return mounted()
  } catch (error) {
    return `a small disk cannot be mounted here: ${String(error).split('\n')[0]}`
  }
}

function run(command: string, given: readonly string[]): void {
  const PATH = `${process.env.PATH ?? ''}:/usr/sbin:/sbin`
  execFileSync(command, given, { stdio: 'pipe', env: { ...process.env, PATH } })
}
