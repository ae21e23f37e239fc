/**
 * `task.toml` of a Harbor task, schema 1.x (harbor 0.25, `models/task/config.py`).
 *
 * Invariants
 * - [HARBOR-FILE-1] A feature that is asked for and cannot be given here is refused with its file and line, never left out.
 * - [HARBOR-FILE-2] A network that is asked for is refused, unless the settings say that the task is played without one. A file that
 *   says nothing of it asks for none.
 * - Keys that say nothing of how the task is played are left alone, as Harbor does.
 */
import { parse, TomlError } from 'smol-toml'
import { z } from 'zod'
import { refusal } from './refusal.ts'
import { lineOfKey } from './toml-place.ts'

/** Longest time of a verifier, in seconds. */
export const verifierLimit = 7200

const mebibyte = 2 ** 20
const seconds = z.number().positive()
const user = z.union([z.string(), z.int()]).optional()
const phase = {
  network_mode: z.enum(['no-network', 'public', 'allowlist']).optional(),
  // Its older name.
  allow_internet: z.boolean().optional(),
}
/** A size as text, in mebibytes. */
const size = z
  .string()
  .regex(/^\s*\d+(\.\d+)?\s*[GMK]\s*$/i, 'expected a size like 512M or 2G')
  .transform((text) => {
    const unit = /G/i.test(text) ? 1024 : /M/i.test(text) ? 1 : 1 / 1024
    return Math.ceil(Number.parseFloat(text) * unit)
  })
/** The sizes that Harbor gave a task that does not say, in mebibytes. */
const usual = { memory: 2048, storage: 10_240 } as const
const environmentSchema = z.looseObject({
  ...phase,
  build_timeout_sec: seconds.max(verifierLimit).default(600),
  docker_image: z.string().min(1).optional(),
  cpus: z.number().positive().default(1),
  memory_mb: z.int().min(16).optional(),
  storage_mb: z.int().min(1).optional(),
  // Their older names.
  memory: size.optional(),
  storage: size.optional(),
  gpus: z.int().min(0).default(0),
  env: z.record(z.string().regex(/^[A-Za-z_]\w*$/), z.string()).default({}),
  workdir: z.string().startsWith('/').optional(),
  os: z.string().default('linux'),
})
const variables = environmentSchema.shape.env
const artifact = z.union([
  z.string(),
  z.looseObject({
    source: z.string(),
    exclude: z.array(z.string()).max(0, 'files cannot be left out').optional(),
    service: z.literal('main', 'there is no other container than main').optional(),
  }),
])
const fileSchema = z.looseObject({
  schema_version: z.string().regex(/^1\.\d+$/, 'expected a schema 1.x'),
  verifier: z
    .looseObject({
      ...phase,
      timeout_sec: seconds.max(verifierLimit).default(600),
      env: variables,
      user,
      environment_mode: z.enum(['shared', 'separate']).optional(),
      environment: environmentSchema.optional(),
    })
    .prefault({}),
  agent: z.looseObject({ ...phase, timeout_sec: seconds.optional(), user }).prefault({}),
  environment: environmentSchema.prefault({}),
  solution: z.looseObject({ env: variables }).prefault({}),
  artifacts: z.array(artifact).default([]),
})
type TaskFileFields = z.output<typeof fileSchema>

/** The properties of a container of a task. */
export interface Surroundings {
  readonly image: string | undefined
  readonly buildSeconds: number
  readonly cores: number
  readonly memoryBytes: number
  readonly diskBytes: number
  readonly workingDirectory: string | undefined
  readonly environment: Readonly<Record<string, string>>
}

/** A task's own rules. */
export interface TaskRules {
  readonly environment: Surroundings
  /** Seconds of all commands of the agent together; undefined: without end. */
  readonly agentSeconds: number | undefined
  readonly verifier: {
    readonly seconds: number
    readonly environment: Readonly<Record<string, string>>
    /** Undefined: the tests see the agent's files. */
    readonly separate: Surroundings | undefined
  }
  readonly solutionEnvironment: Readonly<Record<string, string>>
  /** Paths in the agent's container that a separate verifier gets. */
  readonly artifacts: readonly string[]
  /** The line of a key, for what is only known later. */
  readonly lineOf: (path: readonly PropertyKey[]) => number
}

/** Settings that a file is read with. */
export interface FileSettings {
  /** Values of variables that a file refers to. */
  readonly env: Readonly<Record<string, string>>
  readonly network?: 'none' | undefined
}

/** Features that a task may ask for and none can have here, by key. */
const unavailable: readonly (readonly [path: readonly string[], why: string])[] = [
  [['steps'], 'tasks of several steps cannot be played'],
  [['environment', 'tpu'], 'there is no TPU'],
  [['environment', 'mcp_servers'], "MCP servers in the task's container cannot be reached"],
  [['environment', 'skills_dir'], 'skills cannot be given to the agent'],
  [['environment', 'healthcheck'], 'health checks cannot be made'],
  [['verifier', 'collect'], 'commands before the verifier cannot be run'],
]

/** Reads a file. @throws EnvironmentFault `bad_data` with file and line */
export function readTaskFile(file: string, text: string, settings: FileSettings): TaskRules {
  const lineOf = (path: readonly PropertyKey[]) => lineOfKey(text, path)
  const refuse = (path: readonly PropertyKey[], reason: string) => refusal(file, lineOf(path), reason)
  const given = parsed(file, text)
  // The older name of the key.
  const fields = fileSchema.safeParse({ schema_version: given.version ?? '1.4', ...given })
  if (!fields.success) {
    const [issue] = fields.error.issues
    const path = issue?.path ?? []
    const key = path[0] === 'schema_version' && !('schema_version' in given) ? ['version'] : path
    throw refuse(key, `${key.map(String).join('.')} is ${shown(given, key)}: ${issue?.message ?? ''}`)
  }
  const { environment, verifier, agent, solution, artifacts } = fields.data
  for (const [path, why] of unavailable)
    if (isGiven(given, path)) throw refuse(path, `${path.join('.')}: ${why}`)
  checkNetwork(fields.data, settings, refuse)
  for (const [name, { user: wanted = 'root' }] of Object.entries({ agent, verifier }))
    if (!isRoot(wanted)) throw refuse([name, 'user'], `${name}.user is ${wanted}: only root can be had`)
  const filled = (values: Readonly<Record<string, string>>, path: readonly string[]) =>
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [
        name,
        resolved(value, settings.env, (missing) =>
          refuse(
            [...path, name],
            `${path.join('.')}.${name} refers to ${missing}: give it in \`settings.env\``,
          ),
        ),
      ]),
    )
  const surroundings = (of: TaskFileFields['environment'], path: readonly string[]): Surroundings => {
    if (of.gpus > 0) throw refuse([...path, 'gpus'], `${path.join('.')}.gpus is ${of.gpus}: there is none`)
    if (of.os.toLowerCase() !== 'linux')
      throw refuse([...path, 'os'], `${path.join('.')}.os is ${of.os}: expected linux`)
    return {
      image: of.docker_image,
      buildSeconds: of.build_timeout_sec,
      cores: of.cpus,
      memoryBytes: (of.memory_mb ?? of.memory ?? usual.memory) * mebibyte,
      diskBytes: (of.storage_mb ?? of.storage ?? usual.storage) * mebibyte,
      workingDirectory: of.workdir,
      environment: filled(of.env, [...path, 'env']),
    }
  }
  const mode = verifier.environment_mode ?? (verifier.environment === undefined ? 'shared' : 'separate')
  if (mode === 'shared' && verifier.environment !== undefined)
    throw refuse(['verifier', 'environment'], 'verifier.environment: a shared verifier has none of its own')
  const own = surroundings(environment, ['environment'])
  return {
    environment: own,
    agentSeconds: agent.timeout_sec,
    verifier: {
      seconds: verifier.timeout_sec,
      environment: filled(verifier.env, ['verifier', 'env']),
      separate:
        mode === 'shared'
          ? undefined
          : verifier.environment === undefined
            ? { ...own, image: undefined }
            : surroundings(verifier.environment, ['verifier', 'environment']),
    },
    solutionEnvironment: filled(solution.env, ['solution', 'env']),
    artifacts: artifacts.map((each) => pathOf(each, refuse)),
    lineOf,
  }
}

function parsed(file: string, text: string): Readonly<Record<string, unknown>> {
  try {
    return parse(text)
  } catch (cause) {
    if (!(cause instanceof TomlError)) throw cause
    throw refusal(file, cause.line, `it is no TOML: ${cause.message.split('\n')[0]}`, cause)
  }
}

type Refuse = (path: readonly PropertyKey[], reason: string) => Error

/** @throws EnvironmentFault a network that the file asks for by name */
function checkNetwork(
  { environment, agent, verifier }: TaskFileFields,
  settings: FileSettings,
  refuse: Refuse,
): void {
  if (settings.network === 'none') return
  const asked = Object.entries({ environment, agent, verifier, 'verifier.environment': verifier.environment })
  for (const [name, of] of asked) {
    const { network_mode: mode, allow_internet: isOpen } = of ?? {}
    const why = 'containers have no network; `settings.network: none` plays the task without one'
    const table = name.split('.')
    if (mode !== undefined && mode !== 'no-network')
      throw refuse([...table, 'network_mode'], `${name}.network_mode is ${mode}: ${why}`)
    if (mode === undefined && isOpen === true)
      throw refuse([...table, 'allow_internet'], `${name}.allow_internet is true: ${why}`)
  }
}

function pathOf(given: z.output<typeof artifact>, refuse: Refuse): string {
  const path = typeof given === 'string' ? given : given.source
  if (path.startsWith('/') && !path.split('/').includes('..')) return path.replace(/\/+$/, '')
  throw refuse(['artifacts'], `the artifact "${path}": expected an absolute path without ".."`)
}

/** A value with what it refers to: `${NAME}` or `${NAME:-default}`. @param missing makes the fault of a name without a value */
function resolved(
  value: string,
  values: Readonly<Record<string, string>>,
  missing: (reference: string) => Error,
): string {
  return value.replaceAll(/\$\{(\w+)(?::-([^}]*))?\}/g, (reference, name: string, otherwise?: string) => {
    const found = values[name] ?? otherwise
    if (found === undefined) throw missing(reference)
    return found
  })
}

/** Whether a user is root, as files and images write it. */
export function isRoot(user: string | number): boolean {
  return /^(?:root|0)?(?::(?:root|0))?$/.test(String(user))
}

function isGiven(given: unknown, path: readonly string[]): boolean {
  const value = valueAt(given, path)
  return value !== undefined && !(Array.isArray(value) && value.length === 0)
}

function valueAt(given: unknown, path: readonly PropertyKey[]): unknown {
  // Tables have no prototype.
  return path.reduce<unknown>(
    (at, part) => (typeof at === 'object' && at !== null ? Reflect.get(at, part) : undefined),
    given,
  )
}

function shown(given: unknown, path: readonly PropertyKey[]): string {
  return (JSON.stringify(valueAt(given, path)) ?? 'missing').slice(0, 100)
}
