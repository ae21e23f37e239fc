/**
 * The official Python package, set up on demand in the task's folder.
 *
 * Invariants
 * - Versions and SHA-256 of what is installed are pinned; pip refuses anything else.
 * - A folder that is there is whole: it is written beside and renamed, so that several processes may set it up
 *   at once and a broken attempt leaves nothing that counts.
 * - A missing part (Python, pip, the network) is reported with what to do.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { reasonOf } from '../../faults/reason.ts'
import { codeOf } from '../../faults/system-error.ts'
import { cacheFolder, makeFolder } from '../../machine/files/folder.ts'
import { EnvironmentFault } from '../contract/environment.ts'

const run = promisify(execFile)

/** The release of `bfcl-eval` that plays and grades. */
export const bfclVersion = '2026.3.23'

const requirements = `bfcl-eval==${bfclVersion} --hash=sha256:3bb6dfa5f0c68ad403c9ec50b00db2bb3b4cc9b38ab1ff33f48fe30d853d3a0a
mpmath==1.4.1 --hash=sha256:dc4f0ea2304480d4a9a48a94c1020571558ade522b44a6912efac63a586e140f
`

const oldestPython = [3, 10] as const
const installMs = 600_000
/** Age after which the leftovers of an attempt that was killed are removed by a later one. */
const abandonedMs = 3_600_000

/** A Python that can run the suite, and the folder with the packages. */
export interface Installation {
  readonly python: string
  readonly site: string
}

/**
 * Finds the suite, or sets it up.
 * @param folder where tasks keep what they set up; the user's cache where none is given
 * @param python the interpreter that the settings name
 * @throws EnvironmentFault `backend`, with what to do
 */
export async function install(folder: string | undefined, python: string | undefined): Promise<Installation> {
  const interpreter = await findPython(python)
  const base = path.resolve(folder ?? path.join(cacheFolder(), 'environments'), 'bfcl')
  const site = path.join(base, `bfcl-eval-${bfclVersion}`)
  if (!(await exists(site))) await setUp(interpreter, base, site)
  return { python: interpreter, site }
}

async function findPython(named: string | undefined): Promise<string> {
  const given = named ?? process.env.PERDURE_PYTHON
  const candidates = given === undefined ? ['python3', 'python'] : [given]
  const found: string[] = []
  for (const command of candidates) {
    try {
      const { stdout } = await run(command, ['-I', '-c', 'import sys; print(*sys.version_info[:2])'], {
        timeout: 30_000,
      })
      const [major = 0, minor = 0] = stdout.trim().split(' ').map(Number)
      if (major > oldestPython[0] || (major === oldestPython[0] && minor >= oldestPython[1])) return command
      found.push(`${command} is Python ${major}.${minor}`)
    } catch (cause) {
      found.push(`${command}: ${codeOf(cause) === 'ENOENT' ? 'not found' : reasonOf(cause)}`)
    }
  }
  throw new EnvironmentFault(
    'backend',
    `bfcl needs Python ${oldestPython.join('.')} or newer (${found.join('; ')}): install it, or name one by the setting "python" or the variable PERDURE_PYTHON`,
  )
}

async function setUp(python: string, base: string, site: string): Promise<void> {
  makeFolder(base)
  await removeAbandoned(base)
  const beside = await mkdtemp(`${site}.`)
  try {
    const list = path.join(beside, 'requirements.txt')
    await writeFile(list, requirements)
    const args = [
      ...['-m', 'pip', 'install', '--no-input', '--disable-pip-version-check', '--quiet'],
      ...['--no-deps', '--only-binary', ':all:', '--require-hashes', '--target', beside, '-r', list],
    ]
    try {
      await run(python, args, { timeout: installMs, killSignal: 'SIGKILL' })
    } catch (cause) {
      throw new EnvironmentFault(
        'backend',
        `bfcl-eval ${bfclVersion} cannot be set up: ${lastWords(cause)}. Where pip or its index is missing, install pip, set PIP_INDEX_URL to a mirror, or run "${python} -m pip install --no-deps --target ${site} bfcl-eval==${bfclVersion} mpmath==1.4.1" where they are`,
        { cause },
      )
    }
    await rename(beside, site).catch(async (cause: unknown) => {
      // Another process was first, and what it has put there is the same.
      if (!(await exists(site))) throw cause
    })
  } finally {
    await rm(beside, { recursive: true, force: true })
  }
}

async function removeAbandoned(base: string): Promise<void> {
  for (const name of await readdir(base)) {
    if (!/^bfcl-eval-.*\..{6}$/.test(name)) continue
    const folder = path.join(base, name)
    const changed = await stat(folder).then(
      ({ mtimeMs }) => mtimeMs,
      () => Number.POSITIVE_INFINITY,
    )
    if (Date.now() - changed > abandonedMs) await rm(folder, { recursive: true, force: true })
  }
}

async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  )
}

function lastWords(cause: unknown): string {
  const stderr = cause instanceof Error && 'stderr' in cause ? String(cause.stderr).trim() : ''
  return (stderr === '' ? reasonOf(cause) : stderr).split('\n').slice(-3).join(' ')
}
