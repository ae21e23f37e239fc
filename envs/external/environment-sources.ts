/**
 * The files that an environment's answers follow from: its module, what that imports, and what it says of itself.
 *
 * Invariants
 * - [SOURCES-1] The folder of the module counts as a whole: modules read files beside them that no import names.
 * - [SOURCES-2] A file or folder elsewhere counts where a quoted path in the code names it; an imported package counts by its
 *   `package.json`, and by its files where it is linked rather than installed.
 */
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname, isAbsolute, join, resolve, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { resolve as resolveModule } from 'import-meta-resolve'
import { contentDigest } from '../../machine/files/content-digest.ts'
import type { EnvironmentDefinition } from '../contract/environment.ts'

/** Code whose quoted paths are followed. */
const codeEnding = /\.(?:[cm]?[jt]s|py)$/
const quoted = /(['"`])((?:\.{0,2}\/|[@\w])[^'"`\n$]{0,200})\1/g

/** Sources of an environment. */
interface PlayedFrom {
  /** Module, or folder of a package; undefined for an environment of Perdure's own. */
  readonly from: string | undefined
  /** Folder that is given as its data. */
  readonly data: string | undefined
  readonly definition: Pick<EnvironmentDefinition, 'sources'>
}

/** A name for everything that the environment's answers follow from beside its settings. */
export function environmentDigest({ from, data, definition }: PlayedFrom): Promise<string> {
  const stated = (definition.sources ?? []).filter((path) => isAbsolute(path) && existsSync(path))
  const folders = from === undefined ? [] : codeOf(from)
  return contentDigest([...folders, ...stated, ...(data === undefined ? [] : [data])])
}

/** The module's folder, and what its code names outside of it. */
function codeOf(from: string): readonly string[] {
  if (!existsSync(from)) return []
  const folder = statSync(from).isDirectory() ? from : dirname(from)
  const found = new Set<string>([folder])
  const read = new Set<string>()
  const waiting = statSync(from).isDirectory() ? codeIn(folder) : [from]
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (read.has(file)) continue
    read.add(file)
    for (const path of namedBy(file)) {
      if (codeEnding.test(path)) waiting.push(path)
      if (!within(folder, path) || isInstalled(path)) found.add(path)
    }
  }
  return [...found].toSorted()
}

function codeIn(folder: string): string[] {
  const names = ['package.json', 'index.ts', 'index.js', 'index.mjs']
  const entries = names.map((name) => join(folder, name)).filter((path) => existsSync(path))
  return entries.flatMap((path) => (path.endsWith('package.json') ? [...namedBy(path)] : [path]))
}

/** Existing files and folders that a quoted text of the file names, as a path or as a package. */
function* namedBy(file: string): Generator<string> {
  for (const [, , name = ''] of readFileSync(file, 'utf8').matchAll(quoted)) {
    const path = /[./]/.test(name) ? existingPath(resolve(dirname(file), name)) : undefined
    if (path !== undefined) yield path
    else yield* packageOf(name, file)
  }
}

/** CommonJS leaves the ending out. */
function existingPath(path: string): string | undefined {
  // A lone slash names the whole disk.
  if (dirname(path) === path) return undefined
  return ['', '.js', '.cjs', '.json'].map((ending) => `${path}${ending}`).find(isFileOrFolder)
}

function isFileOrFolder(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  return found !== undefined && (found.isFile() || found.isDirectory())
}

/** The file that says a package's version, or the folder of one that is linked and may change under its version. */
function* packageOf(name: string, importer: string): Generator<string> {
  if (name.startsWith('.') || name.startsWith('/') || /\s/.test(name) || isThisPackage(name)) return
  const entry = entryOf(name, importer)
  if (entry === undefined) return
  const real = realpathSync(entry)
  const folder = packageFolder(real)
  if (folder === undefined) return
  if (isInstalled(real)) yield join(folder, 'package.json')
  else yield folder
}

function isThisPackage(name: string): boolean {
  return name === 'perdure' || name.startsWith('perdure/') || name.startsWith('node:')
}

/** @returns undefined where no such package is installed: the text was no import */
function entryOf(name: string, importer: string): string | undefined {
  try {
    const url = resolveModule(name, pathToFileURL(importer).href)
    const path = url.startsWith('file:') ? fileURLToPath(url) : undefined
    return path !== undefined && existsSync(path) ? path : undefined
  } catch {
    return undefined
  }
}

function packageFolder(file: string): string | undefined {
  for (let folder = dirname(file); dirname(folder) !== folder; folder = dirname(folder))
    if (existsSync(join(folder, 'package.json'))) return folder
  return undefined
}

function isInstalled(path: string): boolean {
  return path.includes(`${sep}node_modules${sep}`)
}

function within(folder: string, path: string): boolean {
  return path === folder || path.startsWith(`${folder}${sep}`)
}
