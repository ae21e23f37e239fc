/**
 * The ground of a campaign: the folder of its home, logs and temporary files, with a disk and a clock of its own
 * where it can have them.
 *
 * Invariants
 * - Nothing that was there before is touched: a folder with something in it is refused.
 * - Disposal removes all of it, unless it is to be kept.
 * - It moves for processes that run, as a clock does that a person sets; their monotonic clock continues.
 * - The Temporal server asks the kernel itself, past any library: it keeps the time, so the two disagree.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Places } from './deployment.ts'
import {
  type FileSystem,
  mountPoweredDisk,
  mountSmallDisk,
  type PoweredDisk,
  type SmallDisk,
} from './disk.ts'
import { ChaosFault } from './waiting.ts'

export interface Ground extends Disposable {
  readonly folder: string
  readonly places: Places
  /** The disk of the home; else why it has none of its own. */
  readonly disk: PoweredDisk | SmallDisk | string
  /** The clock of its processes; else why they have none of their own. */
  readonly clock: MovableClock | string
}

/** A clock that can be moved: the wall clock of a deployment's processes, by libfaketime. */
export interface MovableClock {
  /** The environment of a process that goes by this clock. */
  readonly environment: Readonly<Record<string, string>>
  /** Puts it so many seconds ahead of the machine's own; negative: behind. Seen within a second. */
  set(aheadSeconds: number): void
}

/**
 * @param options.folder one of its own where left out
 * @throws ChaosFault the folder is not empty
 */
export function openGround(options: {
  folder?: string | undefined
  keep?: boolean | undefined
  fileSystem: FileSystem
}): Ground {
  const folder = folderOf(options.folder)
  const disk =
    options.keep === true
      ? 'a home that is kept is on no disk of its own'
      : diskIn(folder, options.fileSystem)
  return {
    folder,
    disk,
    clock: movableClock(folder),
    places: {
      home: join(typeof disk === 'string' ? folder : disk.folder, 'home'),
      logs: join(folder, 'logs'),
      temporary: join(folder, 'tmp'),
    },
    [Symbol.dispose]() {
      if (typeof disk !== 'string') disk.remove()
      if (options.keep !== true) rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** In memory where the machine has no loop devices or not the file system. */
function diskIn(folder: string, fileSystem: FileSystem): Ground['disk'] {
  const place = join(folder, 'disk')
  const powered = mountPoweredDisk(place, fileSystem)
  return typeof powered === 'string' ? mountSmallDisk(place) : powered
}

function folderOf(wish: string | undefined): string {
  if (wish === undefined) return mkdtempSync(join(tmpdir(), 'perdure-chaos-'))
  const folder = resolve(wish)
  if (existsSync(folder) && readdirSync(folder).length > 0)
    throw new ChaosFault(`${folder} is not empty: name a new folder with --home, or none`)
  mkdirSync(folder, { recursive: true })
  return folder
}

/** How long a process may go by the file as it last read it. */
const rereadSeconds = 1

/**
 * @param folder for the file that tells the time
 * @returns why there can be none, where there can be none
 */
function movableClock(folder: string): MovableClock | string {
  const library = faketime()
  if (library === undefined) return 'libfaketime is missing (Debian: apt-get install faketime)'
  const file = join(folder, 'clock')
  const set = (aheadSeconds: number) => {
    writeFileSync(`${file}.new`, `${aheadSeconds < 0 ? '-' : '+'}${Math.abs(aheadSeconds)}\n`)
    renameSync(`${file}.new`, file)
  }
  set(0)
  return {
    environment: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_CACHE_DURATION: String(rereadSeconds),
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
    set,
  }
}

/** The library's file where Debian keeps it: in a folder of the processor's name. */
function faketime(): string | undefined {
  if (process.platform !== 'linux') return undefined
  return ['/usr/lib', '/usr/local/lib']
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => [folder, ...readdirSync(folder).map((name) => join(folder, name))])
    .map((folder) => join(folder, 'faketime', 'libfaketimeMT.so.1'))
    .find((file) => existsSync(file))
}
