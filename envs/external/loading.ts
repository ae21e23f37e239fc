/**
 * Loading: environments that live outside of Perdure, in a file, a folder or an installed package.
 *
 * Invariants
 * - Whatever of a module's exports is an environment is one of its environments; everything else is left alone.
 * - A module gets the running Perdure when it imports `perdure`, wherever it lies: faults keep their class.
 * - A module that does not load, has no environment, or one whose name is taken, is named with what to do.
 */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { resolve as resolveModule } from 'import-meta-resolve'
import { z } from 'zod'
import { Fault } from '../../faults/fault.ts'
import { reasonOf } from '../../faults/reason.ts'
import type { EnvironmentDefinition } from '../environment.ts'
import { environments as builtIn } from '../registry.ts'
import { shareThisPerdure } from './sharing.ts'

/** An environment of one's own cannot be used as it is. */
export class ExternalFault extends Fault<
  'not_loaded' | 'no_environment' | 'bad_environment' | 'unknown_environment' | 'name_taken'
> {
  override readonly name = 'ExternalFault'
  /** A process keeps what a module did when it was first imported. */
  protected static override readonly permanentKinds = 'all'
}

const text = z.string().min(1)

// Looser than the contract in what is called, exact in what is read before anything is called.
const definitionSchema = z.looseObject({
  name: z.string().regex(/^[a-z][a-z0-9_-]{0,39}$/),
  summary: text,
  source: text,
  licence: text,
  reward: text,
  replayable: z.boolean(),
  replayableBecause: text,
  turnLimit: z.int().min(1),
  stepTimeoutSeconds: z.number().positive().optional(),
  open: z.custom<EnvironmentDefinition['open']>(
    (value) => typeof value === 'function',
    'expected a function',
  ),
})

/**
 * All environments that a module exports.
 * @param path of a module, or of a package's folder; absolute
 * @throws ExternalFault
 */
export async function loadEnvironments(path: string): Promise<readonly EnvironmentDefinition[]> {
  const exported = await importModule(path)
  const found = new Set<EnvironmentDefinition>()
  for (const [key, value] of Object.entries(exported)) {
    if (!looksLikeOne(value)) continue
    const result = definitionSchema.safeParse(value)
    if (!result.success)
      throw new ExternalFault(
        'bad_environment',
        `the environment \`${key}\` of ${path} is incomplete: ${z.prettifyError(result.error).replaceAll('\n', ' ')}; \`defineEnvironment\` fills in what is missing`,
        { cause: result.error },
      )
    found.add(value as unknown as EnvironmentDefinition)
  }
  if (found.size === 0)
    throw new ExternalFault(
      'no_environment',
      `${path} exports no environment: write \`export const … = defineEnvironment(…)\`; it exports ${Object.keys(exported).join(', ') || 'nothing'}`,
    )
  const names = [...found].map(({ name }) => name)
  for (const [index, name] of names.entries()) {
    if (names.indexOf(name) !== index)
      throw new ExternalFault('name_taken', `${path} exports two environments "${name}": rename one`)
    if (builtIn.some((known) => known.name === name))
      throw new ExternalFault(
        'name_taken',
        `${path} exports an environment "${name}", and Perdure has one of that name: rename it`,
      )
  }
  return [...found]
}

/** The environment of that name. @throws ExternalFault */
export async function loadEnvironment(path: string, name: string): Promise<EnvironmentDefinition> {
  const environments = await loadEnvironments(path)
  const found = environments.find((each) => each.name === name)
  if (found !== undefined) return found
  throw new ExternalFault(
    'unknown_environment',
    `${path} exports no environment "${name}": use ${environments.map((each) => each.name).join(', ')}`,
  )
}

function looksLikeOne(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && 'open' in value && 'name' in value
}

async function importModule(path: string): Promise<Readonly<Record<string, unknown>>> {
  shareThisPerdure()
  try {
    return await import(pathToFileURL(entryOf(path)).href)
  } catch (cause) {
    if (cause instanceof ExternalFault) throw cause
    const reason = reasonOf(cause)
    const advice = (cause instanceof SyntaxError ? commonJsAbove(path) : undefined) ?? adviceFor(cause)
    throw new ExternalFault('not_loaded', `${path} does not load: ${reason}${advice}`, { cause })
  }
}

function adviceFor(cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  if (code === 'ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING')
    return '; Node runs no TypeScript below node_modules: publish JavaScript, or link the package'
  if (code === 'ERR_MODULE_NOT_FOUND') return '; install what it imports beside it'
  return ''
}

/** What to do where Node takes the module's TypeScript for CommonJS; undefined where it does not. */
function commonJsAbove(path: string): string | undefined {
  for (let folder = statSync(path).isDirectory() ? path : dirname(path); ; folder = dirname(folder)) {
    const file = join(folder, 'package.json')
    if (existsSync(file)) {
      if (manifestSchema.safeParse(JSON.parse(readFileSync(file, 'utf8'))).data?.type !== 'commonjs')
        return undefined
      return `; ${file} says "type": "commonjs", so Node reads the module as CommonJS, which has no \`import\`: write "type": "module" there, or put a package.json with { "type": "module" } beside the module`
    }
    if (folder === dirname(folder)) return undefined
  }
}

const manifestSchema = z.looseObject({
  name: z.string().optional(),
  main: z.string().optional(),
  type: z.string().optional(),
  exports: z.unknown().optional(),
})

/** The module that a path stands for: a file itself, a folder's entry as its package.json says. */
function entryOf(path: string): string {
  if (!existsSync(path))
    throw new ExternalFault('not_loaded', `${path} does not exist: give a module or a package's folder`)
  if (!statSync(path).isDirectory()) return path
  const file = join(path, 'package.json')
  const { name, main, exports } = existsSync(file)
    ? manifestSchema.parse(JSON.parse(readFileSync(file, 'utf8')))
    : {}
  if (name !== undefined && exports !== undefined)
    return fileURLToPath(resolveModule(name, pathToFileURL(file).href))
  const candidates = [...(main === undefined ? [] : [main]), 'index.ts', 'index.js', 'index.mjs']
  const found = candidates.map((candidate) => join(path, candidate)).find((each) => existsSync(each))
  if (found !== undefined) return found
  throw new ExternalFault(
    'not_loaded',
    `${path} has no entry: give it an index.ts or index.js, or name one in "exports" of its package.json`,
  )
}
