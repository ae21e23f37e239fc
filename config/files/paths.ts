/**
 * Paths in a configuration: where they start from, made absolute, so that a run means the same in any directory.
 *
 * Invariants
 * - A path of a file starts at the file's folder, one of `--set` at the working directory.
 * - An absolute path stays as it is, so that a resolved configuration resolves to itself.
 * - Only the name of a package is looked up; whether a path leads somewhere is seen where it is opened.
 * - A `~` that no shell replaced is refused: it would be a folder of that name.
 */
import { isAbsolute, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { resolve as resolveModule } from 'import-meta-resolve'
import { isServerAddress } from '../../identity/tracker-place.ts'
import { algorithmNames } from '../../learning/algorithms/algorithms.ts'
import { withoutTilde } from '../../machine/files/folder.ts'
import { addressFrom, addressProblem, isRemoteAddress } from '../../machine/network/remote-address.ts'
import { engineNames } from '../schema/engine-name.ts'
import type { RunConfig } from '../schema/schema.ts'
import { meantInstead } from './fault.ts'

/** A package that is not installed where the configuration looks for it, or a path that begins with `~`. */
export interface BadAddress {
  readonly path: readonly (string | number)[]
  readonly value: string
  /** The allowed values, worded to follow "expected". */
  readonly message: string
}

/**
 * The configuration with absolute paths.
 * @param folderOf where a value's relative paths start, by its key
 */
export function withAbsolutePaths(
  config: RunConfig,
  folderOf: (key: readonly (string | number)[]) => string,
): { readonly config: RunConfig; readonly missing: readonly BadAddress[] } {
  const missing: BadAddress[] = []
  const pathAt = (value: string, path: readonly (string | number)[]): string => {
    const meant = withoutTilde(value)
    if (meant !== undefined) missing.push({ path, value, message: `${meant}: only a shell replaces "~"` })
    return resolve(folderOf(path), value)
  }
  /** Resolves the name of a part that comes with Perdure, or of a module. */
  const partAt = (value: string, path: readonly (string | number)[], names: readonly string[]): string =>
    names.includes(value)
      ? value
      : moduleAt(value, folderOf(path), (allowed) =>
          missing.push({
            path,
            value,
            message: `one of ${names.join(', ')}, ${allowed}${meantInstead(value, names)}`,
          }),
        )
  const wordsAt = (words: readonly string[], path: readonly (string | number)[]): string[] =>
    commandAt(words, folderOf(path), (message) => missing.push({ path, value: words.join(' '), message }))
  const tasks = config.tasks.map((task, index) => {
    const { data, from, objective, agent } = task
    return {
      ...task,
      ...(data === undefined ? {} : { data: pathAt(data, ['tasks', index, 'data']) }),
      ...(from === undefined
        ? {}
        : {
            from: sourceAt(from, folderOf(['tasks', index, 'from']), (message) =>
              missing.push({ path: ['tasks', index, 'from'], value: from, message }),
            ),
          }),
      ...(objective === undefined
        ? {}
        : { objective: partAt(objective, ['tasks', index, 'objective'], algorithmNames) }),
      ...(agent === undefined
        ? {}
        : { agent: { ...agent, command: wordsAt(agent.command, ['tasks', index, 'agent', 'command']) } }),
    }
  })
  const { from, engine, trainer } = config.policy
  const policy = {
    ...config.policy,
    engine: partAt(engine, ['policy', 'engine'], engineNames),
    ...(from === undefined ? {} : { from: pathAt(from, ['policy', 'from']) }),
    trainer: trainerAt(trainer, folderOf(['policy', 'trainer']), (allowed) =>
      missing.push({
        path: ['policy', 'trainer'],
        value: String(trainer),
        message: `embedded, a list of a command and its arguments, ${allowed}`,
      }),
    ),
  }
  const trackers = mapTrackers(config.trackers, (folder, name) => pathAt(folder, ['trackers', name]))
  const { algorithm, teacher } = config.learning
  const learning = {
    ...config.learning,
    algorithm: partAt(algorithm, ['learning', 'algorithm'], algorithmNames),
    ...(teacher === undefined ? {} : { teacher: pathAt(teacher, ['learning', 'teacher']) }),
  }
  return { config: { ...config, tasks, learning, policy, trackers }, missing }
}

/** The address of a server stays as it is. @param onMissing called with the allowed values where it is nothing that can be used */
function sourceAt(from: string, folder: string, onMissing: (allowed: string) => void): string {
  if (!isRemoteAddress(from)) return moduleAt(from, folder, onMissing)
  const problem = addressProblem(from)
  if (problem !== undefined) onMissing(problem)
  return addressFrom(folder, from)
}

/** @param onMissing called with the allowed values where there is no such package */
function trainerAt(
  trainer: RunConfig['policy']['trainer'],
  folder: string,
  onMissing: (allowed: string) => void,
): RunConfig['policy']['trainer'] {
  if (trainer === 'embedded') return trainer
  if (typeof trainer === 'string') return moduleAt(trainer, folder, onMissing)
  return commandAt(trainer, folder, (message) => onMissing(`with ${message}`))
}

/** A command whose words that begin with `./` or `../` are paths. */
function commandAt(words: readonly string[], folder: string, onMissing: (allowed: string) => void): string[] {
  for (const meant of words.map(withoutTilde))
    if (meant !== undefined) onMissing(`${meant}: only a shell replaces "~"`)
  return words.map((word) => (/^\.{1,2}\//.test(word) ? resolve(folder, word) : word))
}

/** The trackers with other folders; servers stay. */
export function mapTrackers(
  trackers: RunConfig['trackers'],
  change: (folder: string, name: string) => string,
): RunConfig['trackers'] {
  return Object.fromEntries(
    Object.entries(trackers).flatMap(([name, folder]) =>
      folder === undefined ? [] : [[name, isServerAddress(folder) ? folder : change(folder, name)]],
    ),
  )
}

/** True for what names a place in the file system; anything else is the name of a package. */
export function isPath(address: string): boolean {
  return /^(\.{1,2}$|\.{1,2}\/|file:)/.test(address) || isAbsolute(address)
}

/**
 * The module or folder of an address: a path from the folder, or a package installed for it.
 * @param onMissing called with the allowed values where there is no such package
 */
export function moduleAt(address: string, folder: string, onMissing: (allowed: string) => void): string {
  const meant = withoutTilde(address)
  if (meant !== undefined) {
    onMissing(`${meant}: only a shell replaces "~"`)
    return address
  }
  try {
    if (address.startsWith('file:')) return fileURLToPath(address)
    if (isPath(address)) return resolve(folder, address)
    return fileURLToPath(resolveModule(address, pathToFileURL(join(folder, 'perdure.yaml')).href))
  } catch {
    onMissing(
      `a package that is installed in ${resolve(folder)} or above it, or a path that starts with ./, ../ or /`,
    )
    return address
  }
}
