#!/usr/bin/env node
/**
 * The `perdure` command.
 *
 * Invariants
 * - Works under any Node from 20 on: a Node that cannot run TypeScript hands over to the project's own,
 *   with the same terminal, signals and exit code.
 * - In a checkout the sources run; the published package runs what was built from them.
 * - What Node has compiled it finds again in the user's cache, where that can be written.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import module, { createRequire } from 'node:module'
import { constants, homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const source = join(root, 'src', 'cli', 'main.ts')
const isCheckout = existsSync(source)

if (isCheckout && !existsSync(join(root, 'node_modules', '.bin', 'node'))) setUp()
if (isRecentEnough(process.versions.node)) {
  module.enableCompileCache(
    join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'perdure', 'compiled'),
  )
  await import(pathToFileURL(isCheckout ? source : join(root, 'dist', 'cli', 'main.js')).href)
} else handOver(projectNode())

/** Erasable TypeScript runs without a flag, and `node:sqlite` exists, from 22.18 on. */
function isRecentEnough(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > 22 || (major === 22 && minor >= 18)
}

function setUp() {
  const setup = spawnSync(process.execPath, [join(root, 'scripts', 'setup.mjs')], {
    stdio: ['inherit', 2, 'inherit'],
  })
  if (setup.status !== 0) process.exit(1)
}

/** @returns path of a Node that is recent enough, beside this package */
function projectNode() {
  const candidates = [join(root, 'node_modules', 'node', 'bin', 'node')]
  try {
    const installed = createRequire(import.meta.url).resolve('node/package.json')
    candidates.push(join(dirname(installed), 'bin', 'node'))
  } catch {
    // The published package does not bring Node along.
  }
  const found = candidates.find((candidate) => existsSync(candidate))
  if (found !== undefined) return found
  console.error(
    `perdure needs Node 22.18 or newer, and this is ${process.versions.node}: update Node, or install one beside it with \`npm install node@24\`.`,
  )
  process.exit(1)
}

function handOver(node) {
  const child = spawn(node, [...process.execArgv, fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: 'inherit',
  })
  // A terminal's Ctrl-C reaches the child twice then; the command knows echoes from impatience.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2', 'SIGCONT'])
    process.on(signal, () => child.kill(signal))
  child.once('error', (error) => {
    console.error(`perdure cannot run ${node}: ${error.message}`)
    process.exit(1)
  })
  child.once('exit', (code, signal) => {
    process.exit(code ?? 128 + (constants.signals[signal] ?? 0))
  })
}
