/**
 * The ground of a campaign: the folder of its home, logs and temporary files, with a disk and a clock of its own
 * where it can have them.
 *
 * Invariants
 * - Nothing that was there before is touched: a folder with something in it is refused.
 * - Disposal removes all of it, unless it is to be kept.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type MovableClock, movableClock } from './clock.ts'
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
