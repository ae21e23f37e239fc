/**
 * `doctor`: whether this machine can run Perdure, and what to do where it cannot.
 *
 * Invariants
 * - Changes nothing that stays: probes in the home directory are removed again, no server is started.
 * - Exit code 1 exactly when something required is broken; what is merely missing is a warning.
 */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { availableParallelism, totalmem } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { Command } from 'commander'
import { homeOption, jsonOption, type ReportOptions } from './options.ts'
import { openTerminal } from './terminal.ts'

const run = promisify(execFile)
const gigabyte = 1e9
/** A run of the default size writes less than one; Temporal's file grows with it. */
const tightDiskGigabytes = 3
const leastDiskGigabytes = 0.5
const leastMemoryGigabytes = 2

/** What a check found. */
export interface CheckResult {
  readonly name: string
  readonly status: 'ok' | 'warning' | 'broken'
  readonly detail: string
  /** What to do; absent where all is well. */
  readonly advice?: string
}

/** `perdure doctor`. */
export function doctorCommand(): Command {
  return new Command('doctor')
    .summary('check whether this machine can run Perdure')
    .description('Checks Node, the machine, Temporal, onnxruntime, the home directory and the ports.')
    .addOption(homeOption())
    .addOption(jsonOption())
    .addHelpText('after', '\nExamples:\n  $ perdure doctor\n  $ perdure doctor --json')
    .action(async (options: ReportOptions) => {
      const terminal = openTerminal(options)
      const checks = await examineMachine(resolve(options.home))
      const ok = checks.every(({ status }) => status !== 'broken')
      terminal.report({ ok, checks }, [
        ...checkLines(checks),
        '',
        ok ? 'Perdure can run here.' : 'Perdure cannot run here yet.',
      ])
      if (!ok) process.exitCode = 1
    })
}

/** All checks, in the order in which a run would meet them. */
export async function examineMachine(home: string): Promise<readonly CheckResult[]> {
  return [
    checkNode(),
    checkPlatform(),
    await checkRuntime(),
    checkHome(home),
    checkDisk(home),
    ...(await checkTemporal(home)),
    await checkPython(),
  ]
}

const marks: Record<CheckResult['status'], string> = { ok: '✓', warning: '!', broken: '✗' }

/** The results as people read them. */
export function checkLines(checks: readonly CheckResult[]): readonly string[] {
  const width = Math.max(...checks.map(({ name }) => name.length))
  return checks.flatMap(({ name, status, detail, advice }) => [
    `${marks[status]} ${name.padEnd(width)}  ${detail}`,
    ...(advice === undefined ? [] : [`  ${' '.repeat(width)}  → ${advice}`]),
  ])
}

function checkNode(): CheckResult {
  const detail = process.versions.node
  const [major = 0, minor = 0] = detail.split('.').map(Number)
  if (major > 22 || (major === 22 && minor >= 18)) return { name: 'node', status: 'ok', detail }
  return { name: 'node', status: 'broken', detail, advice: 'Update Node to 22.18 or newer.' }
}

function checkPlatform(): CheckResult {
  const memory = totalmem() / gigabyte
  const detail = `${process.platform} ${process.arch}, ${availableParallelism()} cores, ${memory.toFixed(1)} GB memory`
  if (!['linux', 'darwin'].includes(process.platform) || !['x64', 'arm64'].includes(process.arch))
    return {
      name: 'machine',
      status: 'broken',
      detail,
      advice: 'Use Linux or macOS on x64 or arm64; on Windows the Windows Subsystem for Linux.',
    }
  if (memory < leastMemoryGigabytes)
    return { name: 'machine', status: 'warning', detail, advice: 'Use smaller policies and fewer episodes.' }
  return { name: 'machine', status: 'ok', detail }
}

async function checkRuntime(): Promise<CheckResult> {
  try {
    await import('../policy/graph/runtime.ts')
    return { name: 'onnxruntime', status: 'ok', detail: 'loads' }
  } catch (error) {
    return {
      name: 'onnxruntime',
      status: 'broken',
      detail: reasonOf(error),
      advice: 'Install the packages again (rm -rf node_modules, then npm start); on Linux glibc is needed.',
    }
  }
}

function checkHome(home: string): CheckResult {
  const existing = nearestExisting(home)
  const probe = join(existing, `.perdure-probe-${process.pid}`)
  try {
    mkdirSync(probe)
    writeFileSync(join(probe, 'written'), 'x')
    const detail = existing === home ? `${home}, writable` : `${home}, will be made`
    return { name: 'home', status: 'ok', detail }
  } catch (error) {
    return {
      name: 'home',
      status: 'broken',
      detail: `${home} cannot be written (${reasonOf(error)})`,
      advice: 'Make it writable, or choose another directory with --home.',
    }
  } finally {
    rmSync(probe, { recursive: true, force: true })
  }
}

function checkDisk(home: string): CheckResult {
  const { bavail, bsize } = statfsSync(nearestExisting(home))
  const free = (bavail * bsize) / gigabyte
  const detail = `${free.toFixed(1)} GB free`
  const advice = 'Make room, or choose a directory on another disk with --home.'
  if (free < leastDiskGigabytes) return { name: 'disk', status: 'broken', detail, advice }
  if (free < tightDiskGigabytes) return { name: 'disk', status: 'warning', detail, advice }
  return { name: 'disk', status: 'ok', detail }
}

async function checkTemporal(home: string): Promise<readonly CheckResult[]> {
  const { externalServer } = await import('../workers/connection.ts')
  try {
    const external = externalServer()
    if (external !== undefined) return [await checkExternal(home, external.address)]
  } catch (error) {
    return [{ name: 'temporal', status: 'broken', detail: reasonOf(error) }]
  }
  return [await checkBinary(), await checkServer(home)]
}

async function checkExternal(home: string, address: string): Promise<CheckResult> {
  const { connect } = await import('../workers/connection.ts')
  try {
    const connection = await connect(home)
    await connection.close()
    return {
      name: 'temporal',
      status: 'ok',
      detail: `${address}, namespace ${connection.namespace}, answers`,
    }
  } catch (error) {
    return { name: 'temporal', status: 'broken', detail: reasonOf(error) }
  }
}

async function checkBinary(): Promise<CheckResult> {
  const { findTemporalBinary } = await import('../workers/temporal-server/binary.ts')
  const passedOver: string[] = []
  try {
    const binary = await findTemporalBinary((line) => passedOver.push(line))
    if (binary !== undefined)
      return {
        name: 'temporal',
        status: 'ok',
        detail: `${binary.path} ${binary.cliVersion}, server ${binary.serverVersion}`,
      }
    return {
      name: 'temporal',
      status: 'warning',
      detail: ['not installed; it will be fetched', ...passedOver].join('. '),
      advice: 'In a closed network install it by hand: https://docs.temporal.io/cli',
    }
  } catch (error) {
    return { name: 'temporal', status: 'broken', detail: reasonOf(error) }
  }
}

async function checkServer(home: string): Promise<CheckResult> {
  const { inspectTemporal } = await import('../workers/temporal-server/server.ts')
  const { chooseFreePorts } = await import('../workers/temporal-server/ports.ts')
  const server = await inspectTemporal(home)
  if (server?.running === true) {
    const detail = `${server.users} users on 127.0.0.1:${server.record.port}, UI on http://127.0.0.1:${server.record.uiPort}`
    if (server.users > 0) return { name: 'server', status: 'ok', detail: `runs: ${detail}` }
    return {
      name: 'server',
      status: 'warning',
      detail: `left behind by a process that was killed: ${detail}`,
      advice: 'The next command on this home takes it over and stops it; perdure ui does so at once.',
    }
  }
  const ports = await chooseFreePorts(server?.record)
  if (ports === undefined)
    return {
      name: 'ports',
      status: 'broken',
      detail: 'no free pair from 7233 and 8233 upwards on 127.0.0.1',
      advice: 'End programs that use them.',
    }
  return { name: 'ports', status: 'ok', detail: `${ports.port} for Temporal and ${ports.uiPort} for its UI` }
}

async function checkPython(): Promise<CheckResult> {
  const name = 'python'
  try {
    const { stdout } = await run('python3', ['-m', 'pip', '--version'], { timeout: 20_000 })
    return { name, status: 'ok', detail: `${stdout.trim().split(' from ')[0]} (optional)` }
  } catch {
    return {
      name,
      status: 'warning',
      detail: 'python3 with pip is missing (optional)',
      advice: 'It fetches Temporal where the download site cannot be reached, and runs the comparisons.',
    }
  }
}

function nearestExisting(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestExisting(dirname(path))
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
