/**
 * The folder of an episode's server: files that are put there before it, and read after it.
 *
 * Invariants
 * - [EPISODE-FOLDER-1] Reading leads to regular files of the folder alone: a link, a pipe, a path that leads out of it and a file beyond
 *   the bound are as if they were not there, whatever a server has left.
 * - [EPISODE-FOLDER-2] The agent reads the folder's own path, which differs in every episode, as `.`
 */
import { constants, realpathSync } from 'node:fs'
import { mkdir, open, readdir, realpath, writeFile } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, sep } from 'node:path'
import { codeOf } from '../../faults/system-error.ts'
import { EnvironmentFault } from '../contract/environment.ts'

/** Bytes of a file that is read. */
const mostBytes = 16 * 2 ** 20
/** Files that are listed. */
const mostFiles = 10_000

/** The files that a server has left. */
export interface FolderView {
  /** Paths of the regular files, in the order of their names; up to 10,000. */
  list(): Promise<readonly string[]>
  /** The text of a file; undefined where no such file is there. */
  read(path: string): Promise<string | undefined>
}

/** The folder at an episode's start. */
export interface EpisodeFolder {
  /** Puts a file there, and makes the folders above it. @throws EnvironmentFault for a path that leads out of it */
  write(path: string, content: string | Uint8Array): Promise<void>
}

/** A folder; without a path, that of a server that has none here. */
export class ServerFolder implements FolderView, EpisodeFolder {
  readonly path: string | undefined
  readonly #shown: readonly string[]

  constructor(path?: string) {
    this.path = path
    // Servers print the one or the other.
    this.#shown = path === undefined ? [] : [...new Set([realpathSync(path), path])]
  }

  async write(path: string, content: string | Uint8Array): Promise<void> {
    const { path: folder } = this
    if (folder === undefined)
      throw new EnvironmentFault(
        'bad_settings',
        `the file ${path} has no place: a server with an address has no folder here`,
      )
    const place = join(folder, path)
    if (isAbsolute(path) || !place.startsWith(folder + sep))
      throw new EnvironmentFault('bad_data', `the file ${path} is not in the folder of the episode`)
    await mkdir(dirname(place), { recursive: true })
    await writeFile(place, content)
  }

  async list(): Promise<readonly string[]> {
    const { path: folder } = this
    if (folder === undefined) return []
    const found: string[] = []
    const waiting = [folder]
    for (let at = waiting.pop(); at !== undefined && found.length < mostFiles; at = waiting.pop())
      for (const entry of await readdir(at, { withFileTypes: true }).catch(() => [])) {
        const place = join(at, entry.name)
        if (entry.isDirectory()) waiting.push(place)
        else if (entry.isFile()) found.push(relative(folder, place))
      }
    return found.slice(0, mostFiles).toSorted()
  }

  async read(path: string): Promise<string | undefined> {
    const { path: folder } = this
    if (folder === undefined || isAbsolute(path) || path.includes('\0')) return undefined
    const place = join(await realpath(folder), path)
    try {
      if ((await realpath(place)) !== place) return undefined
      // A pipe without a writer would keep the grader for ever.
      const file = await open(place, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
      try {
        const status = await file.stat()
        return status.isFile() && status.size <= mostBytes ? await file.readFile('utf8') : undefined
      } finally {
        await file.close()
      }
    } catch (cause) {
      if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'ENXIO', 'ENAMETOOLONG'].includes(String(codeOf(cause))))
        return undefined
      throw cause
    }
  }

  /** A text of the server as the agent reads it. */
  readable(text: string): string {
    return this.#shown.reduce((seen, path) => seen.replaceAll(path, '.'), text)
  }
}
