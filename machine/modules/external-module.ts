/**
 * Custom modules that a configuration names: a file, a folder or an installed package with an environment, an engine,
 * a trainer, an advantage or a loss.
 *
 * Invariants
 * - A module gets the running Perdure when it imports `perdure`, wherever it lies: faults keep their class.
 * - Exported functions run as code of the module (`module-code.ts`): they cannot end the process.
 * - A module that does not load, or does not export what it was named for, is named with what to do.
 */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { resolve as resolveModule } from 'import-meta-resolve'
import { z } from 'zod'
import { Fault } from '../../faults/fault.ts'
import { reasonOf } from '../../faults/reason.ts'
import { ownedBy, reportingOwner, runAs } from './module-code.ts'
import { shareThisPerdure } from './sharing.ts'

/** A custom module cannot be used as it is. */
export class ExternalFault extends Fault<
  | 'not_loaded'
  | 'not_exported'
  | 'incomplete'
  | 'bad_result'
  | 'no_environment'
  | 'bad_environment'
  | 'unknown_environment'
  | 'name_taken'
> {
  override readonly name = 'ExternalFault'
  /** A process keeps what a module did when it was first imported. */
  protected static override readonly permanentKinds = 'all'
}

/** The one export that a module must have. */
export interface WantedExport {
  /** `engine`, `engines`. */
  readonly words: { readonly one: string; readonly several: string }
  /** Keys that an export has which is meant to be one. */
  readonly keys: readonly string[]
  /** How it would be written. */
  readonly written: string
  readonly schema: z.ZodType
}

/**
 * The one export of a module that is what it was named for; all others are left alone.
 * @param path of a module, or of a package's folder; absolute
 * @throws ExternalFault `not_loaded`, `not_exported`, `incomplete`
 */
export async function importOnly(path: string, wanted: WantedExport): Promise<unknown> {
  const { words, keys, written, schema } = wanted
  const candidates = Object.entries(await importModule(path)).filter(
    ([, value]) => typeof value === 'object' && value !== null && keys.every((key) => key in value),
  )
  const [first] = candidates
  // A default export may be the same once more.
  if (first === undefined || candidates.some(([, value]) => value !== first[1]))
    throw new ExternalFault(
      'not_exported',
      `${path} exports ${first === undefined ? `no ${words.one}` : `several ${words.several}`}: write one \`${written}\``,
    )
  const [key, value] = first
  const result = schema.safeParse(value)
  if (result.success) return ownedBy(reportingOwner(`the ${words.one} of ${path}`), value as object)
  throw new ExternalFault(
    'incomplete',
    `the ${words.one} \`${key}\` of ${path} is incomplete: ${z.prettifyError(result.error).replaceAll('\n', ' ')}`,
    { cause: result.error },
  )
}

/** Imports a module or a package's folder. @throws ExternalFault `not_loaded` */
export async function importModule(path: string): Promise<Readonly<Record<string, unknown>>> {
  shareThisPerdure()
  try {
    const { href } = pathToFileURL(entryOf(path))
    return await runAs(reportingOwner(`the module ${path}`), () => import(href))
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

/** Advice where Node takes the module's TypeScript for CommonJS; undefined where it does not. */
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

/** The module at a path: a file itself, or a folder's entry as its package.json says. */
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
