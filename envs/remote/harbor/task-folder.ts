/**
 * Task folders of Harbor: `task.toml`, `instruction.md`, `environment/`, `tests/`, `solution/`.
 *
 * Invariants
 * - [HARBOR-FOLDER-1] A folder that cannot be played is left out with its file and line, and the others are played.
 * - [HARBOR-FOLDER-2] Files are read where they lie in the folder; no link is followed.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { reasonOf } from '../../../faults/reason.ts'
import { readTextSync } from '../../../machine/files/text-file.ts'
import { EnvironmentFault } from '../../contract/environment.ts'
import { emptyFolder, unreadableFolder, Warnings } from '../../contract/library.ts'
import { instructionsOf } from './dockerfile.ts'
import { refusal } from './refusal.ts'
import { type FileSettings, isRoot, readTaskFile, type TaskRules } from './task-file.ts'

/** A folder that can be played. */
export interface TaskFolder {
  readonly name: string
  readonly path: string
  readonly file: string
  readonly instruction: string
  readonly rules: TaskRules
  /** Whether the verifier's image is made of its own Dockerfile, with the tests in it. */
  readonly hasVerifierImage: boolean
}

/** Folders that can be played, by name, and why the others cannot. */
export interface TaskFolders {
  readonly tasks: ReadonlyMap<string, TaskFolder>
  readonly warnings: readonly string[]
}

/** A file of a folder. */
export interface FolderFile {
  /** Relative to the folder. */
  readonly path: string
  readonly content: Uint8Array
  readonly mode: number
}

/**
 * Reads the task folders in a folder, or that folder where it is one.
 * @param only the name of the folder that is wanted alone
 * @throws EnvironmentFault `bad_data` where there is none that can be played
 */
export function readTaskFolders(
  folder: string,
  settings: FileSettings,
  only: string | undefined,
): TaskFolders {
  const warnings = new Warnings('harbor')
  const tasks = new Map<string, TaskFolder>()
  const places = placesIn(folder)
  const left: string[] = []
  if (only !== undefined && !places.has(only)) {
    const known = [...places.keys()].slice(0, 20).map((name) => `#${name}`)
    throw new EnvironmentFault(
      'bad_data',
      `${folder} has no task "${only}": use ${known.join(', ') || 'a folder with tasks'}`,
    )
  }
  for (const [name, path] of places) {
    if (only !== undefined && name !== only) continue
    try {
      tasks.set(name, readTaskFolder(path, name, settings))
    } catch (fault) {
      const reason = reasonOf(fault)
      if (only !== undefined) throw fault
      left.push(reason)
      warnings.add(`${name} is left out: ${reason}`)
    }
  }
  if (tasks.size > 0) return { tasks, warnings: warnings.all() }
  throw emptyFolder('harbor', folder, {
    what: 'task that can be played',
    expected: 'folders with task.toml, instruction.md, environment/Dockerfile and tests/test.sh',
    warnings: left,
  })
}

/** @throws EnvironmentFault `bad_data`, TextFault */
function readTaskFolder(path: string, name: string, settings: FileSettings): TaskFolder {
  const file = join(path, 'task.toml')
  const rules = readTaskFile(file, readTextSync(file), settings)
  const instruction = withoutCanary(readTextSync(join(path, 'instruction.md'))).trim()
  if (instruction === '') throw refusal(join(path, 'instruction.md'), undefined, 'it says nothing')
  const tests = join(path, 'tests', 'test.sh')
  if (!isFile(tests)) throw refusal(tests, undefined, 'there is no such file, which writes the reward')
  checkImage(file, path, rules)
  const { separate } = rules.verifier
  const verifierDockerfile = join(path, 'tests', 'Dockerfile')
  const hasVerifierImage =
    separate !== undefined && (separate.image !== undefined || isFile(verifierDockerfile))
  if (hasVerifierImage && separate?.image === undefined) checkDockerfile(verifierDockerfile)
  return { name, path, file, instruction, rules, hasVerifierImage }
}

/** Task folders by name, in order. @throws EnvironmentFault `bad_data` */
function placesIn(folder: string): ReadonlyMap<string, string> {
  if (isFile(join(folder, 'task.toml'))) return new Map([[basename(folder), folder]])
  let entries: readonly string[]
  try {
    entries = readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
  } catch (cause) {
    return unreadableFolder('harbor', folder)(cause)
  }
  const names = entries.filter((name) => isFile(join(folder, name, 'task.toml'))).sort()
  if (names.length > 0) return new Map(names.map((name) => [name, join(folder, name)]))
  throw emptyFolder('harbor', folder, {
    what: 'task',
    expected: 'a task.toml in it, or in folders of it',
    warnings: [],
  })
}

/** @throws EnvironmentFault `bad_data` */
function checkImage(file: string, path: string, { environment, lineOf }: TaskRules): void {
  const compose = ['docker-compose.yaml', 'docker-compose.yml'].map((name) => join(path, 'environment', name))
  const found = compose.find(isFile)
  if (found !== undefined) throw refusal(found, 1, 'several containers of one task cannot be had')
  if (environment.image !== undefined) return
  const dockerfile = join(path, 'environment', 'Dockerfile')
  if (!isFile(dockerfile))
    throw refusal(
      file,
      lineOf(['environment']),
      `the task has no image: write ${dockerfile} or environment.docker_image`,
    )
  checkDockerfile(dockerfile)
}

/** Refuses an image that the engine would build, and none could play. @throws EnvironmentFault `bad_data` */
function checkDockerfile(file: string): void {
  const instructions = instructionsOf(readTextSync(file))
  const last = instructions.findLastIndex(({ name }) => name === 'FROM')
  if (last < 0) throw refusal(file, 1, 'there is no FROM')
  const [user] = instructions
    .slice(last)
    .filter(({ name }) => name === 'USER')
    .slice(-1)
  if (user !== undefined && !isRoot(user.text.split(/\s+/)[1] ?? ''))
    throw refusal(file, user.line, `${user.text}: only root can be had`)
  const entry = instructions.slice(last).find(({ name }) => name === 'ENTRYPOINT')
  if (entry !== undefined) throw refusal(file, entry.line, `${entry.text}: it would not be started`)
}

/** The text without the lines at its beginning that mark the data of a benchmark, as Harbor shows it. */
function withoutCanary(text: string): string {
  const lines = text.split('\n')
  const first = lines.findIndex((line) => !/^(<!--.*canary.*-->|#.*canary.*)$/i.test(line.trim()))
  return lines.slice(Math.max(first, 0)).join('\n')
}

const mebibyte = 2 ** 20
/** Tests, solutions and build contexts are kept in memory while they are sent. */
const mostBytes = 256 * mebibyte

/** All files below a folder, in order; none where there is no such folder. @throws EnvironmentFault `bad_data` for too many bytes */
export function filesBelow(folder: string): readonly FolderFile[] {
  const files: FolderFile[] = []
  let bytes = 0
  const visit = (path: string): void => {
    const entries = readdirSync(path, { withFileTypes: true }).sort((one, other) =>
      one.name < other.name ? -1 : 1,
    )
    for (const entry of entries) {
      const inside = join(path, entry.name)
      if (entry.isDirectory()) visit(inside)
      if (!entry.isFile()) continue
      const { size, mode } = statSync(inside)
      bytes += size
      if (bytes > mostBytes)
        throw refusal(folder, undefined, `it holds more than ${mostBytes / mebibyte} MiB`)
      files.push({ path: relative(folder, inside), content: readFileSync(inside), mode: mode & 0o777 })
    }
  }
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) visit(folder)
  return files
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true
}
