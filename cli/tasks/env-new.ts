/**
 * `env new` and `env test`: a working environment to begin with, and the tests of one.
 *
 * Invariants
 * - The test of an environment fails where its types do.
 * - The new environment is a copy of the example guess-number: it plays, passes its tests, and learns.
 * - Nothing that is there is overwritten; the folder is there whole or not at all.
 * - [ENV-TYPES-1] The author's own tsconfig.json counts where there is one; `perdure` always means this Perdure, with its types.
 * - [ENV-TYPES-2] Without TypeScript or the types of Node nothing is checked, and the command that installs them is named.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { partialRewardNotices } from '../../client/checks/partial-rewards.ts'
import { EnvironmentFault } from '../../envs/contract/environment.ts'
import { openWatched } from '../../envs/contract/watched-task.ts'
import { environments } from '../../envs/registry.ts'
import { packageRoot } from '../../machine/files/folder.ts'
import { CallFault, exitCodes } from '../terminal/failure.ts'
import { tasksAt } from './task-address.ts'

const template = join(packageRoot, 'examples', 'guess-number')

/** The files of a new environment, below the template, by its language. */
const files = {
  typescript: ['README.md', 'package.json', 'index.ts', 'bisection.ts', 'index.test.ts', 'train.yaml'],
  python: [
    ...['python/README.md', 'package.json', 'python/index.ts', 'python/environment.py'],
    ...['index.test.ts', 'train.yaml'],
  ],
} as const
export type Language = keyof typeof files

/** How a check ended. */
type TypeCheck = 'right' | 'wrong' | { readonly unchecked: string }

/**
 * Writes an environment into a folder of its name. In Python its rules are in a process of their own, and a module starts it.
 * @param parent where the folder is made
 * @returns the folder
 * @throws CallFault a name that cannot be one, or a folder that is there
 */
export function writeEnvironment(name: string, parent: string, language: Language = 'typescript'): string {
  if (!/^[a-z][a-z0-9_-]{0,39}$/.test(name))
    throw new CallFault(
      'bad_argument',
      `NAME is "${name}": expected up to 40 small letters, digits, "-" and "_", a letter first`,
    )
  if (environments.some((known) => known.name === name))
    throw new CallFault('bad_argument', `NAME is "${name}": Perdure has a task of that name; take another`)
  const folder = resolve(parent, name)
  if (existsSync(folder))
    throw new CallFault('bad_argument', `NAME is "${name}": ${folder} is there already; take another name`)
  const beside = mkdtempSync(join(resolve(parent), `.${name}-`))
  try {
    const whole = join(beside, name)
    mkdirSync(whole)
    for (const file of files[language])
      writeFileSync(join(whole, basename(file)), renamed(readFileSync(join(template, file), 'utf8'), name))
    writeFileSync(join(whole, 'tsconfig.json'), `${JSON.stringify({ compilerOptions }, null, 2)}\n`)
    linkPerdure(whole, folder)
    renameSync(whole, folder)
  } finally {
    rmSync(beside, { recursive: true, force: true })
  }
  return folder
}

// Editors and Node's own test runner look for `perdure` beside the module, where it may not be installed.
function linkPerdure(whole: string, folder: string): void {
  if (installedAbove(folder, join('perdure', 'package.json')) !== undefined) return
  writeFileSync(join(whole, '.gitignore'), 'node_modules/\n')
  mkdirSync(join(whole, 'node_modules', '@types'), { recursive: true })
  symlinkSync(packageRoot, join(whole, 'node_modules', 'perdure'), 'junction')
  const nodeTypes = installedFor(folder, join('@types', 'node'))
  if (nodeTypes !== undefined && installedAbove(folder, join('@types', 'node')) === undefined)
    symlinkSync(nodeTypes, join(whole, 'node_modules', '@types', 'node'), 'junction')
}

function renamed(text: string, name: string): string {
  return text
    .replaceAll('examples/guess-number', name)
    .replaceAll('guess-number', name)
    .replaceAll('guessNumber', 'environment')
}

/** Commands to try on a new environment. */
export function firstSteps(name: string, language: Language): readonly string[] {
  return [
    `${name}/ is an environment that works: ${language === 'python' ? 'environment.py' : 'index.ts'} is where it is made your own.`,
    `  perdure env play ./${name}         play it`,
    `  perdure env test ./${name}         run its tests`,
    `  perdure train ${name}/train.yaml   train a policy on it`,
  ]
}

/**
 * Checks the types of an environment, and runs its tests with Node's test runner, in a process in which `perdure` is this one.
 * @param path the environment's module or folder
 * @param say where a notice goes
 * @returns the exit code of the command
 */
export async function testEnvironment(path: string, say: (line: string) => void): Promise<number> {
  const at = resolve(path)
  if (!existsSync(at)) throw new CallFault('bad_argument', `FROM is "${path}": ${at} does not exist`)
  const folder = statSync(at).isDirectory() ? at : dirname(at)
  const tests = readdirSync(folder)
    .filter((file) => /\.test\.[mc]?[jt]s$/.test(file))
    .map((file) => join(folder, file))
  if (tests.length === 0)
    throw new CallFault(
      'bad_argument',
      `FROM is "${path}": ${folder} has no tests; name them *.test.ts, as \`perdure env new\` does`,
    )
  const types = await checkTypes(folder)
  if (typeof types !== 'string') say(`types are not checked; ${types.unchecked}`)
  const sharing = new URL(`../../machine/modules/sharing-preload${extname(import.meta.url)}`, import.meta.url)
    .href
  const child = spawn(process.execPath, [...process.execArgv, '--import', sharing, '--test', ...tests], {
    stdio: 'inherit',
  })
  const [code] = await once(child, 'close')
  if (code !== 0 || types === 'wrong') return exitCodes.failed
  for (const notice of await lostRewards(at)) say(notice)
  return exitCodes.done
}

/** Rewards that episodes of an environment lose at a limit where a configuration does not keep them; none where it cannot be opened. */
async function lostRewards(path: string): Promise<readonly string[]> {
  const notices: string[] = []
  try {
    for (const definition of await tasksAt(path)) {
      await using opened = new AsyncDisposableStack()
      const task = opened.adopt(await openWatched(definition, {}), (each) => each.close())
      const names = { task: definition.name, key: 'tasks.N.notCompleted' }
      const [split] = task.splits
      if (split !== undefined) notices.push(...(await partialRewardNotices(task, split, names)))
    }
  } catch (fault) {
    if (!(fault instanceof EnvironmentFault || fault instanceof CallFault)) throw fault
  }
  return notices
}

/** Options of a new environment: those that Node's own reading of TypeScript asks for. */
const compilerOptions = {
  target: 'es2024',
  lib: ['es2024', 'esnext.disposable'],
  module: 'nodenext',
  types: ['node'],
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  allowImportingTsExtensions: true,
  erasableSyntaxOnly: true,
  verbatimModuleSyntax: true,
} as const

/** Checks all TypeScript of a folder; the compiler writes what is wrong to this process's streams. */
async function checkTypes(folder: string): Promise<TypeCheck> {
  const files = globSync('**/*.{ts,mts}', { cwd: folder, exclude: ['**/node_modules/**'] })
  if (files.length === 0) return 'right'
  const compiler = installedFor(folder, join('typescript', 'bin', 'tsc'))
  const nodeTypes = installedFor(folder, join('@types', 'node'))
  if (compiler === undefined || nodeTypes === undefined)
    return {
      unchecked: 'install TypeScript to check the types too: npm install --save-dev typescript @types/node',
    }
  const beside = mkdtempSync(join(tmpdir(), 'perdure-types-'))
  try {
    const own = join(folder, 'tsconfig.json')
    const config = {
      ...(existsSync(own) ? { extends: own } : {}),
      compilerOptions: {
        ...(existsSync(own) ? { noEmit: true } : compilerOptions),
        typeRoots: [dirname(nodeTypes)],
        ...(installedAbove(folder, 'perdure') === undefined
          ? { paths: { perdure: [typesOfPerdure()] } }
          : {}),
      },
      files: files.map((file) => join(folder, file)),
    }
    const project = join(beside, 'tsconfig.json')
    writeFileSync(project, JSON.stringify(config))
    const child = spawn(process.execPath, [compiler, '-p', project], { stdio: 'inherit', cwd: folder })
    const [code] = await once(child, 'close')
    return code === 0 ? 'right' : 'wrong'
  } finally {
    rmSync(beside, { recursive: true, force: true })
  }
}

/** Where an installed package has a file, as seen from a folder. @example installedAbove('my-game', 'perdure') */
function installedAbove(folder: string, path: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    const found = join(at, 'node_modules', path)
    if (existsSync(found)) return found
    if (at === dirname(at)) return undefined
  }
}

/** The author's own version first. */
function installedFor(folder: string, path: string): string | undefined {
  return installedAbove(folder, path) ?? installedAbove(packageRoot, path)
}

/** The sources in a checkout, the built declarations in a package. */
function typesOfPerdure(): string {
  const sources = join(packageRoot, 'index.ts')
  return existsSync(sources) ? sources : join(packageRoot, 'dist', 'index.d.ts')
}
