/**
 * Set-up of a checkout: installs what is missing, says what it does, and costs nothing when all is there.
 *
 * Invariants
 * - Runs on any Node from 20 on, and needs no package.
 * - Installs exactly what the lock file names; runs no install script of a package but the one that
 *   fetches Node (another would download gigabytes of CUDA; `allowScripts` in package.json denies
 *   them to a bare `npm install` as well).
 * - A second run finds its stamp and does nothing.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const modules = join(root, 'node_modules')
const stampFile = join(modules, '.perdure-setup.json')
const nodePackage = join(modules, 'node')
const linkedNode = join(modules, '.bin', 'node')

main()

function main() {
  const wanted = hashOfLock()
  const stamp = readJson(stampFile)
  if (stamp?.lock === wanted && existsSync(linkedNode) && hasTemporal(stamp)) return
  if (process.platform === 'win32')
    fail('Perdure runs on Linux and macOS; on Windows use the Windows Subsystem for Linux.')
  say('Set-up: looking for what is missing')
  if (!matchesLock()) installPackages()
  ensureNode()
  const temporal = process.env.TEMPORAL_ADDRESS ? undefined : ensureTemporal()
  writeFileSync(stampFile, `${JSON.stringify({ lock: wanted, temporal })}\n`)
  say('Set-up: done')
}

/** A set-up against a server of the user's own has fetched none. */
function hasTemporal(stamp) {
  if (process.env.TEMPORAL_ADDRESS) return true
  return typeof stamp.temporal === 'string' && existsSync(stamp.temporal)
}

function hashOfLock() {
  const hash = createHash('sha256')
  for (const part of [readFileSync(join(root, 'package-lock.json')), process.platform, process.arch])
    hash.update(part)
  return hash.digest('hex')
}

/** Compares what npm noted of its last installation with the lock file; packages of other platforms are absent. */
function matchesLock() {
  const installed = readJson(join(modules, '.package-lock.json'))?.packages
  if (installed === undefined) return false
  const locked = readJson(join(root, 'package-lock.json')).packages
  return Object.entries(locked).every(
    ([path, entry]) =>
      path === '' || (installed[path]?.version ?? (entry.optional ? entry.version : '')) === entry.version,
  )
}

function installPackages() {
  const fresh = !existsSync(modules)
  say(`Set-up: npm packages (${fresh ? 'about a minute the first time' : 'they differ from the lock file'})`)
  // `ci` refuses where the registry at hand lacks a package of some other platform; `install` does not mind.
  if (!(fresh && runNpm(['ci']) === 0) && runNpm(['install']) !== 0)
    fail(
      [
        'The npm packages could not be installed; npm says why above. Usually one of these helps:',
        '  - no connection or a proxy:  npm config get registry; npm config set proxy …; try again',
        '  - a half installation:       rm -rf node_modules; npm start',
        '  - no permission:             run as the owner of this folder',
      ].join('\n'),
    )
}

function runNpm(args) {
  const quiet = ['--loglevel=error', '--no-audit', '--no-fund', '--ignore-scripts']
  const env = { ...process.env, ONNXRUNTIME_NODE_INSTALL: 'skip' }
  const npm = process.env.npm_execpath
  const [command, ...first] =
    npm?.endsWith('.js') || npm?.endsWith('.cjs') ? [process.execPath, npm] : ['npm']
  return spawnSync(command, [...first, ...args, ...quiet], { cwd: root, stdio: 'inherit', env }).status
}

/** Node in the version that the lock file names; the package's own script fetches it for this platform. */
function ensureNode() {
  const { version } = readJson(join(nodePackage, 'package.json'))
  const binary = join(nodePackage, 'bin', 'node')
  if (versionOf(binary) !== version) {
    say(`Set-up: Node ${version}, used for this project only`)
    spawnSync(process.execPath, ['installArchSpecificPackage.js'], {
      cwd: nodePackage,
      stdio: ['ignore', 'ignore', 'inherit'],
      env: {
        ...process.env,
        npm_config_loglevel: 'error',
        npm_config_ignore_scripts: 'true',
        NODE_NO_WARNINGS: '1',
      },
    })
    if (versionOf(binary) !== version)
      fail(
        `Node ${version} could not be fetched for ${process.platform} ${process.arch}. Check the connection and try again, or use an installed Node 22.18 or newer: node bin/perdure.mjs …`,
      )
  }
  if (!existsSync(linkedNode)) {
    rmSync(linkedNode, { force: true })
    symlinkSync(join('..', 'node', 'bin', 'node'), linkedNode)
  }
}

function versionOf(binary) {
  const { status, stdout } = spawnSync(binary, ['--version'], { encoding: 'utf8' })
  return status === 0 ? stdout.trim().replace(/^v/, '') : undefined
}

function ensureTemporal() {
  const { status, stdout } = spawnSync(linkedNode, [join(root, 'scripts', 'obtain-temporal.ts')], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
  })
  if (status !== 0) process.exit(1)
  return stdout.trim()
}

function readJson(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
}

function say(line) {
  console.error(line)
}

function fail(text) {
  console.error(`\n${text}`)
  process.exit(1)
}
