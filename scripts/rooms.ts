/**
 * The rooms of the house: a room is a folder of the first or second level, with all that is below it.
 *
 * Invariants
 * - [ROOMS-1] No two rooms need each other, directly or through others; types count too, tests do not.
 * - [ROOMS-2] No folder holds more files than a reader takes in at a glance.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

/** Files that are directly in one folder, at most. */
const mostFiles = 25

/** Path of a file in the repository, and its text. */
export type Sources = ReadonlyMap<string, string>

/** The room of a file. */
function roomOf(file: string): string {
  return dirname(file).split('/').slice(0, 2).join('/')
}

/** The rooms that each room imports, each with one import that shows it. */
export function importsOfRooms(sources: Sources): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const imports = new Map<string, Map<string, string>>()
  for (const [file, text] of sources) {
    if (/\.(test|testing|bench)\.ts$/.test(file)) continue
    for (const [, path] of text.matchAll(/\b(?:from|import)\s*\(?\s*'(\.[^']*)'/g)) {
      const target = normalize(join(dirname(file), path ?? ''))
      const [from, to] = [roomOf(file), roomOf(target)]
      if (from === to || !sources.has(target)) continue
      const known = imports.get(from) ?? new Map<string, string>()
      imports.set(from, known.set(to, `${file} imports ${target}`))
    }
  }
  return imports
}

/** One line for each import of a room by which it needs a room that needs it. */
export function cyclesOfRooms(sources: Sources): readonly string[] {
  const imports = importsOfRooms(sources)
  const reached = (start: string): ReadonlySet<string> => {
    const found = new Set<string>()
    const waiting = [start]
    for (let room = waiting.pop(); room !== undefined; room = waiting.pop())
      for (const next of imports.get(room)?.keys() ?? [])
        if (!found.has(next)) {
          found.add(next)
          waiting.push(next)
        }
    return found
  }
  return [...imports].flatMap(([room, others]) =>
    [...others].flatMap(([other, example]) =>
      reached(other).has(room) ? [`${room} and ${other} need each other: ${example}`] : [],
    ),
  )
}

/** One line for each folder with too many files. */
export function crowdedFolders(files: readonly string[]): readonly string[] {
  const counts = Map.groupBy(files, (file) => dirname(file))
  return [...counts].flatMap(([folder, { length }]) =>
    length > mostFiles ? [`${folder}/ has ${length} files, at most ${mostFiles} are allowed`] : [],
  )
}

/** Files of the repository that are there. @param words of `git ls-files`: tracked files by default */
export function repositoryFiles(root: string, ...words: readonly string[]): readonly string[] {
  return execFileSync('git', ['ls-files', ...words], { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter((file) => file !== '' && existsSync(join(root, file)))
}

function check(): boolean {
  const root = dirname(import.meta.dirname)
  const files = repositoryFiles(root, '--cached', '--others', '--exclude-standard')
  const code = files.filter((file) => /\.tsx?$/.test(file))
  const sources = new Map(code.map((file) => [file, readFileSync(join(root, file), 'utf8')]))
  const lines = [...cyclesOfRooms(sources), ...crowdedFolders(files)]
  for (const line of lines) console.error(line)
  return lines.length === 0
}

if (import.meta.main) process.exitCode = check() ? 0 : 1
