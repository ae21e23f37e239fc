/**
 * Checks of the machine: Node, its size, onnxruntime, the disk, Temporal and its ports, the container engine.
 *
 * Invariants
 * - Changes nothing that stays: probes in the home directory are removed again, no server is started.
 * - Never wrong: most tasks need no engine.
 */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { availableParallelism, totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { reasonOf } from '../../faults/reason.ts'
import { type FileSystem, fileSystemOf } from '../../machine/files/file-system.ts'
import { isCacheOff, warmStartsFolder } from '../../machine/files/folder.ts'
import { proxyVariables } from '../../machine/network/proxy.ts'
import { addressSpace, spaceAdvice } from '../../machine/processes/address-space.ts'
import { bytesAt } from '../../storage/disk/disk-use.ts'
import { networkAdvice, networkWords } from '../../storage/disk/room.ts'
import type { EngineFacts } from '../../worlds/containers/engine.ts'
import { bytes, count } from '../terminal/wording.ts'
import { type Check, check } from './check.ts'

const run = promisify(execFile)
const gigabyte = 1e9

/** A run of the default size writes less than one; Temporal's file grows with it. */
const tightDiskGigabytes = 3

const leastDiskGigabytes = 0.5
const leastMemoryGigabytes = 2

/** All checks, in the order in which a run would meet them. */
export async function examineMachine(home: string): Promise<readonly Check[]> {
  return [
    checkNode(),
    checkPlatform(),
    await checkRuntime(),
    checkHome(home),
    checkDisk(home),
    checkFileSystem(fileSystemOf(home)),
    await checkWarmStarts(),
    checkProxies(),
    ...(await checkTemporal(home)),
    await checkPython(),
    ...(await examineContainers()),
  ]
}

function checkNode(): Check {
  const detail = process.versions.node
  const [major = 0, minor = 0] = detail.split('.').map(Number)
  if (major > 22 || (major === 22 && minor >= 18)) return check.fine('node', detail)
  return check.wrong('node', detail, 'Update Node to 22.18 or newer.')
}

function checkPlatform(): Check {
  const memory = totalmem() / gigabyte
  const detail = `${process.platform} ${process.arch}, ${availableParallelism()} cores, ${memory.toFixed(1)} GB memory`
  if (!['linux', 'darwin'].includes(process.platform) || !['x64', 'arm64'].includes(process.arch))
    return check.wrong(
      'machine',
      detail,
      'Use Linux or macOS on x64 or arm64; on Windows the Windows Subsystem for Linux.',
    )
  const space = spaceAdvice(addressSpace())
  if (space !== undefined) return check.wrong('machine', detail, sentence(space))
  if (memory < leastMemoryGigabytes)
    return check.warning('machine', detail, 'Use smaller policies and fewer episodes.')
  return check.fine('machine', detail)
}

async function checkRuntime(): Promise<Check> {
  try {
    await import('../../policy/graph/runtime.ts')
    return check.fine('onnxruntime', 'loads')
  } catch (error) {
    return check.wrong(
      'onnxruntime',
      reasonOf(error),
      'Install the packages again (rm -rf node_modules, then npm start); on Linux glibc is needed.',
    )
  }
}

function checkHome(home: string): Check {
  const existing = nearestExisting(home)
  const probe = join(existing, `.perdure-probe-${process.pid}`)
  try {
    mkdirSync(probe)
    writeFileSync(join(probe, 'written'), 'x')
    const detail = existing === home ? `${home}, writable` : `${home}, will be made`
    return check.fine('home', detail)
  } catch (error) {
    return check.wrong(
      'home',
      `${home} cannot be written (${reasonOf(error)})`,
      'Make it writable, or choose another directory with --home.',
    )
  } finally {
    rmSync(probe, { recursive: true, force: true })
  }
}

function checkDisk(home: string): Check {
  const { bavail, bsize } = statfsSync(nearestExisting(home))
  const free = (bavail * bsize) / gigabyte
  const detail = `${free.toFixed(1)} GB free`
  const advice = 'Make room, or choose a directory on another disk with --home.'
  if (free < leastDiskGigabytes) return check.wrong('disk', detail, advice)
  if (free < tightDiskGigabytes) return check.warning('disk', detail, advice)
  return check.fine('disk', detail)
}

/** @param found of the home */
export function checkFileSystem({ name, kind }: FileSystem): Check {
  if (kind === 'network')
    return check.wrong('file system', `the home ${networkWords(name)}`, sentence(networkAdvice))
  if (kind === 'unsure')
    return check.warning(
      'file system',
      `${name}: it may lead to another machine`,
      'If it does, or if several machines mount it, choose a directory on a local disk with --home.',
    )
  return check.fine('file system', name)
}

function sentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`
}

/** Never wrong: what is kept there saves time, and can be made again. */
async function checkWarmStarts(): Promise<Check> {
  const name = 'warm starts'
  const folder = warmStartsFolder()
  if (isCacheOff()) return check.fine(name, 'not kept, each run makes its own: PERDURE_NO_CACHE is set')
  if (!existsSync(folder)) return check.fine(name, `none kept yet in ${folder}`)
  const kept = readdirSync(folder).length
  return check.fine(
    name,
    `${count(kept)} kept, ${bytes(await bytesAt(folder))} in ${folder}; it can be deleted`,
  )
}

function checkProxies(): Check {
  const variables = proxyVariables()
  if (variables.length === 0) return check.fine('proxies', 'no variable names one')
  return check.fine('proxies', `${variables.join(' ')}; connections to this machine are direct`)
}

async function checkTemporal(home: string): Promise<readonly Check[]> {
  const { externalServer } = await import('../../temporal/connection.ts')
  try {
    const external = externalServer()
    if (external !== undefined) return [await checkExternal(home, external.address)]
  } catch (error) {
    return [check.wrong('temporal', reasonOf(error))]
  }
  return [await checkBinary(), await checkServer(home)]
}

async function checkExternal(home: string, address: string): Promise<Check> {
  const { connect } = await import('../../temporal/connection.ts')
  try {
    const connection = await connect(home)
    await connection.close()
    return check.fine('temporal', `${address}, namespace ${connection.namespace}, answers`)
  } catch (error) {
    return check.wrong('temporal', reasonOf(error))
  }
}

async function checkBinary(): Promise<Check> {
  const { findTemporalBinary } = await import('../../temporal/server/startup/binary.ts')
  const passedOver: string[] = []
  try {
    const binary = await findTemporalBinary((line) => passedOver.push(line))
    if (binary !== undefined)
      return check.fine('temporal', `${binary.path} ${binary.cliVersion}, server ${binary.serverVersion}`)
    return check.warning(
      'temporal',
      ['not installed; it will be fetched', ...passedOver].join('. '),
      'In a closed network install it by hand: https://docs.temporal.io/cli',
    )
  } catch (error) {
    return check.wrong('temporal', reasonOf(error))
  }
}

async function checkServer(home: string): Promise<Check> {
  const { inspectTemporal } = await import('../../temporal/server/server.ts')
  const { chooseFreePorts, searchedRange } = await import('../../temporal/server/startup/ports.ts')
  const server = await inspectTemporal(home)
  if (server?.running === true) {
    const detail = `${server.users} users on 127.0.0.1:${server.record.port}, UI on http://127.0.0.1:${server.record.uiPort}`
    if (server.users > 0) return check.fine('server', `runs: ${detail}`)
    return check.warning(
      'server',
      `left behind by a process that was killed: ${detail}`,
      'The next command on this home takes it over and stops it; `perdure ui` does so at once.',
    )
  }
  if (server?.silence !== undefined)
    return check.wrong('server', server.silence, 'Wait for a minute and look again.')
  const ports = await chooseFreePorts(server?.record)
  if (ports === undefined)
    return check.wrong(
      'ports',
      `no free pair ${searchedRange()} on 127.0.0.1`,
      'End programs that use them, or name another first port in PERDURE_TEMPORAL_PORT.',
    )
  return check.fine('ports', `${ports.port} for Temporal and ${ports.uiPort} for its UI`)
}

async function checkPython(): Promise<Check> {
  const name = 'python'
  try {
    const { stdout } = await run('python3', ['-m', 'pip', '--version'], { timeout: 20_000 })
    return check.fine(name, `${stdout.trim().split(' from ')[0]} (optional)`)
  } catch {
    return check.warning(
      name,
      'python3 with pip is missing (optional)',
      'It fetches Temporal where the download site cannot be reached, and runs the comparisons.',
    )
  }
}

function nearestExisting(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestExisting(dirname(path))
}

const name = 'containers'

/** @param address of the engine; that of `DOCKER_HOST` by default, else Docker's socket */
export async function examineContainers(address?: string): Promise<readonly Check[]> {
  const { connectEngine } = await import('../../worlds/containers/engine.ts')
  const { engineFacts } = await import('../../worlds/containers/engine.ts')
  const isNamed = (address ?? process.env.DOCKER_HOST) !== undefined
  try {
    const engine = await connectEngine(address)
    const facts = await engineFacts(engine)
    const found = `engine ${facts.version} at ${engine.address}, ${facts.storage}`
    if (!facts.hasSeccomp)
      return [
        check.warning(
          name,
          `${found}, without seccomp`,
          'No container starts without it: enable it in the engine.',
        ),
      ]
    return [check.fine(name, found), diskCheck(facts.sizes), usersCheck(facts.users)]
  } catch (error) {
    const reason = reasonOf(error)
    if (isNamed) return [check.warning(name, reason, 'Only tasks with containers need it.')]
    return [check.fine(name, 'no engine answers (optional): only official items of os need one')]
  }
}

function diskCheck(sizes: EngineFacts['sizes']): Check {
  const of = 'container disks'
  if (sizes === 'given') return check.fine(of, 'the engine limits each to its size')
  if (sizes === 'unknown') return check.fine(of, 'whether the engine limits them shows once it has an image')
  return check.fine(of, `watched by Perdure, because the engine limits none: ${sizes.refusal}`)
}

function usersCheck(users: EngineFacts['users']): Check {
  const of = 'container users'
  if (users === 'mapped') return check.fine(of, 'count as users of their own (userns-remap)')
  if (users === 'those of a user')
    return check.fine(of, 'count as those of the user that the engine belongs to (rootless)')
  return check.warning(
    of,
    "root of a container counts as root of the engine's machine, and shares what the kernel allows each user",
    'Set userns-remap for the engine: docs/containers.md, "Users of the engine\'s machine".',
  )
}
