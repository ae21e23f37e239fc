/**
 * A clock that can be moved: the wall clock of a deployment's processes, by libfaketime.
 *
 * Invariants
 * - It moves for processes that run, as a clock does that a person sets; their monotonic clock continues.
 * - The Temporal server asks the kernel itself, past any library: it keeps the time, so the two disagree.
 */
import { existsSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface MovableClock {
  /** The environment of a process that goes by this clock. */
  readonly environment: Readonly<Record<string, string>>
  /** Puts it so many seconds ahead of the machine's own; negative: behind. Seen within a second. */
  set(aheadSeconds: number): void
}

/** How long a process may go by the file as it last read it. */
const rereadSeconds = 1

/**
 * @param folder for the file that tells the time
 * @returns why there can be none, where there can be none
 */
export function movableClock(folder: string): MovableClock | string {
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
