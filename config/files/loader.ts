/**
 * Loads a configuration: a YAML file, then single values from the command line, then defaults.
 *
 * Invariants
 * - A returned configuration has passed the schema and the checks between fields; nothing half-checked leaves.
 * - A problem names its key, its value, what is allowed, and the line of the file or the `--set` it came from.
 * - A key without a value takes its default.
 * - Secrets are refused: a configuration is kept with its run.
 * - Its paths are absolute: those of the file start at the file's folder, those of the command line where
 *   the command was called.
 * - The complaint names the key that takes up most, and its largest allowed value.
 */
import { dirname } from 'node:path'
import type { z } from 'zod'
import {
  largestState,
  mostOutstanding,
  mostStateBytes,
  stateShares,
} from '../../learning/run/state-bounds.ts'
import { shownValue, wrongValueWords } from '../../learning/run/wrong-value.ts'
import type { Contradiction } from '../schema/consistency.ts'
import { fieldAt, keysOf } from '../schema/fields.ts'
import { type ConfigInput, configSchema, type RunConfig } from '../schema/schema.ts'
import { ConfigFault, type ConfigProblem, meantInstead, nearest } from './fault.ts'
import { type Override, overridePlace, parseOverride, withOverride } from './overrides.ts'
import { withAbsolutePaths } from './paths.ts'
import { plainSecrets } from './secrets.ts'
import { endlessness, type Tree } from './tree.ts'
import { isPlacedIn, placeIn, readYamlFile, type YamlFile } from './yaml-file.ts'

/** Where a configuration comes from. */
export interface ConfigSource {
  /** YAML file; the built-in defaults without one. */
  readonly file?: string | undefined
  /** `key=value` texts, later ones win. */
  readonly set?: readonly string[]
  /** Where paths in `set` start; the working directory by default. */
  readonly setFolder?: string
  /** Names of the tasks that need no `from`; any name is taken without them. */
  readonly tasks?: readonly string[]
}

/**
 * The resolved configuration.
 * @throws ConfigFault with every problem that was found
 * @example loadConfig({ file: 'examples/smoke.yaml', set: ['training.updates=1'] })
 */
export function loadConfig({ file, set = [], setFolder = '', tasks }: ConfigSource): RunConfig {
  const source = file === undefined ? undefined : readSource(file)
  const overrides = set.map(parseOverride)
  let tree: Tree = source?.tree ?? {}
  for (const override of overrides) tree = withOverride(tree, override)
  const whereIs = (path: readonly PropertyKey[]) => origin(path, overrides, source)
  if (tasks !== undefined) refuseUnknownTasks(tree, tasks, whereIs)
  return complete(
    parseConfig(tree, whereIs),
    (path) => (overrideOf(path, overrides) === undefined && file !== undefined ? dirname(file) : setFolder),
    whereIs,
  )
}

/**
 * The resolved configuration of a program, which gives it as data; its paths start at the working directory.
 * @throws ConfigFault with every problem that was found
 */
export function resolveConfig(given: ConfigInput): RunConfig {
  return complete(parseConfig(given), () => '')
}

/**
 * The configuration with single values replaced; paths of those start at the working directory.
 * @param given resolved, as a run keeps it
 * @throws ConfigFault with every problem that was found
 */
export function withOverrides(given: RunConfig, set: readonly string[]): RunConfig {
  const overrides = set.map(parseOverride)
  let tree: Tree = structuredClone(given)
  for (const override of overrides) tree = withOverride(tree, override)
  const whereIs = (path: readonly PropertyKey[]) => origin(path, overrides, undefined)
  return complete(parseConfig(tree, whereIs), () => '', whereIs)
}

/** Makes paths absolute. @param folderOf where those of a key start */
function complete(
  given: RunConfig,
  folderOf: (path: readonly PropertyKey[]) => string,
  whereIs: (path: readonly PropertyKey[]) => string = () => '',
): RunConfig {
  refuseSecrets(given, whereIs)
  const { config, missing } = withAbsolutePaths(given, folderOf)
  if (missing.length === 0) {
    refuseOversize(config, whereIs)
    return config
  }
  throw new ConfigFault(
    'bad_value',
    missing.map(({ path, value, message }) => problem(path, value, message, whereIs)),
  )
}

/** Before anything else that depends on the names: a suite of a misspelt task would be blamed for it. */
function refuseUnknownTasks(
  tree: Tree,
  known: readonly string[],
  whereIs: (path: readonly PropertyKey[]) => string,
): void {
  const { tasks } = tree as { tasks?: unknown }
  const problems = (Array.isArray(tasks) ? tasks : []).flatMap((entry: unknown, index) => {
    const { task, from } = (entry ?? {}) as { task?: unknown; from?: unknown }
    if (typeof task !== 'string' || from !== undefined || known.includes(task)) return []
    return [problem(['tasks', index, 'task'], task, taskWords(index, task, known), whereIs)]
  })
  if (problems.length > 0) throw new ConfigFault('bad_value', problems)
}

/** The allowed names of a task, in words. */
export function taskWords(index: number, task: string, known: readonly string[]): string {
  return `one of ${known.join(', ')}; for a task of your own say in \`tasks.${index}.from\` where it is${meantInstead(task, known)}`
}

// A run's configuration is kept and shown. A configuration that was stored before is taken as it is.
function refuseSecrets(config: RunConfig, whereIs: (path: readonly PropertyKey[]) => string): void {
  const { engineUrl, engineApiKey } = config.policy
  const ofTasks = config.tasks.flatMap(({ from, settings, demonstrationSettings, judge, user }, index) => [
    ...plainSecrets(from ?? '', ['tasks', index, 'from']),
    ...plainSecrets(settings, ['tasks', index, 'settings']),
    ...plainSecrets(demonstrationSettings, ['tasks', index, 'demonstrationSettings']),
    ...plainSecrets(judge ?? {}, ['tasks', index, 'judge']),
    ...plainSecrets(user ?? {}, ['tasks', index, 'user']),
  ])
  const secrets = [...ofTasks, ...plainSecrets({ engineUrl, engineApiKey }, ['policy'])]
  if (secrets.length === 0) return
  throw new ConfigFault(
    'bad_value',
    secrets.map(({ path, advice }) => {
      const key = path.join('.')
      // The call itself may hold the secret.
      const where = whereIs(path).replace(/^(--set [^=]*).*$/s, '$1')
      const message = `${prefix(where)}\`${key}\` holds a secret, which would be kept with the run: expected ${advice}`
      return { key, value: undefined, allowed: advice, where, message }
    }),
  )
}

// A configuration that was stored before is taken as it is here too.
function refuseOversize(config: RunConfig, whereIs: (path: readonly PropertyKey[]) => string): void {
  const found = oversize(config)
  if (found === undefined) return
  throw new ConfigFault('bad_value', [problem(found.path, found.value, found.message, whereIs)])
}

/**
 * Checks a configuration that is already data, such as one stored with its run.
 * @throws ConfigFault with every problem that was found
 */
export function parseConfig(
  tree: unknown,
  whereIs: (path: readonly PropertyKey[]) => string = () => '',
): RunConfig {
  refuseEndless(tree, whereIs)
  const result = configSchema.safeParse(tree, { reportInput: true })
  if (result.success) return result.data
  throw new ConfigFault(
    'bad_value',
    result.error.issues.flatMap((issue) => problemsOf(issue, whereIs)).filter(isFirstOfItsKey),
  )
}

// One value may break several bounds.
function isFirstOfItsKey({ message }: ConfigProblem, index: number, all: readonly ConfigProblem[]): boolean {
  return all.findIndex((other) => other.message === message) === index
}

/** @throws ConfigFault of what has no end, which no schema could be held against */
function refuseEndless(tree: unknown, whereIs: (path: readonly PropertyKey[]) => string): void {
  const found = endlessness(tree)
  if (found === undefined) return
  const { path, wrong, allowed } = found
  const key = path.join('.')
  const where = whereIs(path)
  const message = `${prefix(where)}\`${key}\` ${wrong}: expected ${allowed}`
  throw new ConfigFault('bad_value', [{ key, value: undefined, allowed, where, message }])
}

/** A file with what it says, without what it leaves empty. */
type YamlSource = YamlFile & { readonly tree: Tree }

function readSource(file: string): YamlSource {
  const read = readYamlFile(file)
  const source = { ...read, tree: {} }
  if (read.value === null) return source
  refuseEndless(read.value, (path) => origin(path, [], source))
  return { ...source, tree: withoutEmpty(read.value as { [key: string]: unknown }) }
}

// A section whose lines are all commented out is null in YAML and means its defaults. A task's own
// `settings` are the task's business and stay as they are.
function withoutEmpty(tree: { [key: string]: unknown }): { [key: string]: unknown } {
  return Object.fromEntries(
    Object.entries(tree)
      .filter(([, value]) => value !== null)
      .map(([key, value]) => [key, key === 'settings' ? value : emptied(value)]),
  )
}

function emptied(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((entry) => emptied(entry ?? {}))
  return typeof value === 'object' && value !== null
    ? withoutEmpty(value as { [key: string]: unknown })
    : value
}

function startsWith(path: readonly PropertyKey[], prefix: readonly PropertyKey[]): boolean {
  return prefix.every((part, index) => path[index] === part)
}

/** The override that gave the value at a path. */
function overrideOf(path: readonly PropertyKey[], overrides: readonly Override[]): Override | undefined {
  return overrides.findLast((each) => startsWith(path, each.path))
}

function origin(
  path: readonly PropertyKey[],
  overrides: readonly Override[],
  source: YamlSource | undefined,
): string {
  const override = overrides.findLast((each) => startsWith(path, each.path) || startsWith(each.path, path))
  if (override !== undefined && (startsWith(path, override.path) || source === undefined))
    return overridePlace(override.text)
  if (source === undefined) return ''
  if (override === undefined || isPlacedIn(source, path)) return placeIn(source, path)
  return overridePlace(override.text)
}

function problemsOf(
  issue: z.core.$ZodIssue,
  whereIs: (path: readonly PropertyKey[]) => string,
): readonly ConfigProblem[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((name) => unknownKey([...issue.path, name], issue.path, name, whereIs))
  const allowed =
    issue.code === 'custom' ? issue.message : (fieldAt(issue.path)?.allowed ?? allowedInside(issue))
  return [problem(issue.path, issue.input, allowed, whereIs)]
}

/** The allowed values where no field declares the value: one of a task's own settings. */
function allowedInside({ code, message }: z.core.$ZodIssue): string {
  return code === 'invalid_union'
    ? 'a text, a finite number, true, false, null, or a list or keys of these'
    : message
}

function problem(
  path: readonly PropertyKey[],
  given: unknown,
  allowed: string,
  whereIs: (path: readonly PropertyKey[]) => string,
): ConfigProblem {
  const key = path.map(String).join('.')
  const where = whereIs(path)
  const value = shownValue(given)
  const message = `${prefix(where)}${wrongValueWords(key, value, allowed)}`
  return { key, value, allowed, where, message }
}

function unknownKey(
  path: readonly PropertyKey[],
  section: readonly PropertyKey[],
  name: string,
  whereIs: (path: readonly PropertyKey[]) => string,
): ConfigProblem {
  const siblings = keysOf(section)
  const key = path.map(String).join('.')
  const near = nearest(name, siblings)
  const allowed = `one of ${siblings.join(', ')}`
  const where = whereIs(path)
  const message = `${prefix(where)}unknown key \`${key}\`; the nearest known key is \`${[...section.map(String), near].join('.')}\` (known here: ${siblings.join(', ')})`
  return { key, value: undefined, allowed, where, message }
}

function prefix(where: string): string {
  return where === '' ? '' : `${where}: `
}

/** Why a run of this configuration could carry too much; undefined where it cannot. */
export function oversize(config: RunConfig): Contradiction | undefined {
  const bytes = largestState(config)
  if (bytes <= mostStateBytes) return undefined
  const { groups, tasks, suites } = stateShares(config)
  const over = `a run carries at most ${mostStateBytes} bytes from one execution to the next, and with this configuration it might be ${bytes}`
  if (groups >= Math.max(tasks, suites)) {
    const { groupsPerUpdate, maxStaleness } = config.rollout
    const most = mostOutstanding(config)
    return {
      path: ['rollout', 'groupsPerUpdate'],
      value: groupsPerUpdate,
      message: `so few groups that (rollout.maxStaleness + 1) × rollout.groupsPerUpdate, now ${(maxStaleness + 1) * groupsPerUpdate}, is at most ${most}: ${over}`,
    }
  }
  if (suites >= tasks) {
    const { length } = config.evaluation.suites
    return {
      path: ['evaluation', 'suites'],
      value: `${length} suites`,
      message: `fewer suites and gates, or shorter names: ${over}`,
    }
  }
  const sizes = config.tasks.map((task) => JSON.stringify(task).length)
  const index = sizes.indexOf(Math.max(...sizes))
  return {
    path: ['tasks', index],
    value: config.tasks[index]?.task ?? '',
    message: `shorter settings, e.g. the path of a file in the place of what it holds: ${over}`,
  }
}
