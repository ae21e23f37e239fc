#!/usr/bin/env node
/**
 * The `perdure` command.
 *
 * Invariants
 * - Works under any Node from 20 on: a Node that cannot run TypeScript hands over to the project's own,
 *   with the same terminal, signals and exit code.
 * - In a checkout the sources run; the published package runs what was built from them.
 * - Node's compiled code is cached in the user's cache, where that can be written.
 * - Before the command listens to signals, SIGINT, SIGTERM and SIGHUP end everything at once with 130.
 * - A command does not outlive the launcher or the package runner that started it, however that one ends.
 */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import module, { createRequire } from 'node:module'
import { Socket } from 'node:net'
import { constants, homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { setFlagsFromString } from 'node:v8'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const source = join(root, 'cli', 'main.ts')
const isCheckout = existsSync(source)
const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP']
/** The file descriptor of the launcher's pipe, in the process that it starts. */
const pipeVariable = 'PERDURE_LAUNCHER_PIPE'
const lookForParentEveryMs = 500

const leave = () => process.exit(130)
for (const name of endingSignals) process.on(name, leave)
listenToLauncher()
endWithPackageRunner()

if (isCheckout && !existsSync(join(root, 'node_modules', '.bin', 'node'))) await setUp()
if (isRecentEnough(process.versions.node)) {
  const compiled = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'perdure', 'compiled')
  // The threads and programs that it starts know of it by the variable: a thread of the policy loads in half the time.
  if (module.enableCompileCache(compiled).directory !== undefined) process.env.NODE_COMPILE_CACHE ??= compiled
  // They work beside a run that needs the memory, and most of what they read is soon garbage: a heap that grows with it would
  // hold 150 MB for nothing. The flags only work before the heap has grown.
  if (process.argv[2] === 'ui' || process.argv[2] === 'serve')
    setFlagsFromString('--semi-space-growth-factor=1 --heap-growing-percent=30')
  await import(pathToFileURL(isCheckout ? source : join(root, 'dist', 'cli', 'main.js')).href)
} else handOver(projectNode())

/** Erasable TypeScript runs without a flag, and `node:sqlite` exists, from 22.18 on. */
function isRecentEnough(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > 22 || (major === 22 && minor >= 18)
}

async function setUp() {
  const child = spawn(process.execPath, [join(root, 'scripts', 'setup.mjs')], {
    stdio: ['inherit', 2, 'inherit'],
    // A group of its own, so that a signal ends the package manager with it.
    detached: true,
  })
  const end = () => {
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {
      // It has just ended.
    }
  }
  process.on('exit', end)
  const code = await new Promise((resolve) => child.once('exit', resolve).once('error', () => resolve(1)))
  process.off('exit', end)
  if (code !== 0) process.exit(1)
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
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    env: { ...process.env, [pipeVariable]: '3' },
  })
  const [, , , pipe] = child.stdio
  // A terminal's Ctrl-C reaches both: through the pipe the child knows it from one that was pressed again.
  for (const name of endingSignals) {
    process.on(name, () => pipe.write(`${name}\n`))
    process.off(name, leave) // last: a signal is lost while nothing listens
  }
  for (const name of ['SIGQUIT', 'SIGUSR2', 'SIGCONT']) process.on(name, () => child.kill(name))
  pipe.on('error', () => undefined) // the child has just ended
  child.once('error', (error) => {
    console.error(`perdure cannot run ${node}: ${error.message}`)
    process.exit(1)
  })
  child.once('exit', (code, signal) => {
    process.exit(code ?? 128 + (constants.signals[signal] ?? 0))
  })
}

/** In the process that a launcher started: its signals, and its end, which closes the pipe. */
function listenToLauncher() {
  const descriptor = process.env[pipeVariable]
  if (descriptor === undefined) return
  delete process.env[pipeVariable]
  const pipe = new Socket({ fd: Number(descriptor) })
  pipe.setEncoding('utf8').on('data', (text) => {
    for (const name of text.split('\n'))
      if (endingSignals.includes(name)) process.emit(name, name, 'launcher')
  })
  pipe.on('error', () => undefined)
  pipe.once('close', () => process.kill(process.pid, 'SIGHUP'))
  pipe.unref()
}

/** `npm start` and `npx` hand their signals on, but SIGKILL leaves what they started to the system. */
function endWithPackageRunner() {
  if (process.env.npm_execpath === undefined) return
  const line = lineToPackageRunner()
  if (line.length === 0) return
  const timer = setInterval(() => {
    if (line.every((pid, at) => (at === 0 ? process.ppid : parentOf(line[at - 1])) === pid)) return
    clearInterval(timer)
    process.kill(process.pid, 'SIGHUP')
  }, lookForParentEveryMs)
  timer.unref()
}

/** The process that started this one, up to the package runner; there may be shells between. Empty without a runner. */
function lineToPackageRunner() {
  if (process.platform !== 'linux') return [process.ppid]
  const line = []
  for (let pid = process.ppid; line.length < 4 && pid > 1; pid = parentOf(pid)) {
    line.push(pid)
    if (/\b(npm|npx|pnpm|yarn|bun)\b/.test(textOf(`/proc/${pid}/cmdline`).split(' ')[0])) return line
  }
  return []
}

function parentOf(pid) {
  return Number(/^PPid:\s+(\d+)/m.exec(textOf(`/proc/${pid}/status`))?.[1] ?? 0)
}

function textOf(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
