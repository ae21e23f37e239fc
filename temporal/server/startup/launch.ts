/**
 * Launching one server process on a home's file, and what its failures mean.
 *
 * Invariants
 * - `launchServer` returns when the server answers, knows its namespace and has the search attributes;
 *   otherwise its process has ended, also when this process exits meanwhile.
 * - The process is of its own session: a Ctrl-C for the terminal's group does not reach it, and it
 *   outlives the process that launched it.
 * - However a process exits, it takes along the server that it alone uses; only SIGKILL leaves one to the next user.
 * An exiting process can wait for nothing, so the server is killed: its file is as safe from that as from any crash.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { Connection } from '@temporalio/client'
import { loopback } from '../../../machine/network/listening.ts'
import { shellWord } from '../../../machine/processes/typed-command.ts'
import { clock, grpcDeadline } from '../../../machine/services/clock.ts'
import { withProxy } from '../../calls/proxied.ts'
import { TemporalFault } from '../fault.ts'
import { fileArguments, stopProcess } from '../process.ts'
import type { ServerPaths } from '../record.ts'
import type { TemporalBinary } from './binary.ts'
import { busyMs } from './list-indexes.ts'
import { ensureSearchAttributes, raiseRetention, searchAttributeFlags } from './namespace.ts'
import type { ServerPorts } from './ports.ts'

export const embeddedNamespace = 'default'

/** Two seconds on an idle machine; a loaded one may need many times that. */
const readyDeadlineMs = 90_000

const readyPollMs = 150

/**
 * The line that a server prints once it has its ports. Another home's server may have taken the port a moment
 * ago and answer in its place; a version that prints something else is believed after a while.
 */
const announcement = 'Temporal Server:'

const unannouncedMs = 5_000

/** The log is put aside at this size when a server starts. */
const logLimitBytes = 16 * 1024 * 1024

/** The reason is before the stack traces of all threads. */
const explainedBytes = 200_000

/**
 * The server's live memory is small and its garbage is much: by default two fifths of its CPU go into the Go
 * runtime. It may grow to five times what is live, and collects as usual near the limit.
 */
const collectorSettings = { GOGC: '400', GOMEMLIMIT: '768MiB' } as const

const megabyte = 1024 * 1024

const dynamicSettings = [
  'frontend.enableServerVersionCheck=false',
  // A task queue of one server needs no parts, between which tasks and polls would be passed on.
  'matching.numTaskqueueReadPartitions=1',
  'matching.numTaskqueueWritePartitions=1',
  // Runs of a fleet share the workers by their weights.
  'matching.enableFairness=true',
  // A server in memory reads its search attributes again each time it lists an execution; ours has them from its start.
  'system.forceSearchAttributesCacheRefreshOnRead=false',
  // By default a quarter of a million executions, ended ones too, fill the memory that the collector is given. An
  // episode counts 2 kB and takes 46 kB: this is room for three thousand.
  'history.cacheSizeBasedLimit=true',
  `history.hostLevelCacheMaxSizeBytes=${6 * megabyte}`,
  `history.eventsHostLevelCacheMaxSizeBytes=${16 * megabyte}`,
  `history.eventsCacheMaxSizeBytes=${16 * megabyte}`,
] as const

/** A server process that answers. */
export interface LaunchedServer extends ServerPorts {
  readonly pid: number
  readonly child: ChildProcess
  readonly clusterId: string
}

/** Address of a frontend on this machine. */
export function loopbackAddress(port: number): string {
  return `${loopback}:${port}`
}

/**
 * @param onSpawn receives the process before it is ready, so that a crash meanwhile leaves a trace of it
 * @param signal ends the server that does not answer yet
 * @throws TemporalFault that says why the server did not come up and what to do
 */
export async function launchServer(
  binary: TemporalBinary,
  paths: ServerPaths,
  ports: ServerPorts,
  onSpawn: (pid: number) => void,
  signal?: AbortSignal,
): Promise<LaunchedServer> {
  refuseForeignFile(paths.database)
  const { descriptor, size } = openLog(paths.log)
  const child = spawn(binary.path, serverArguments(binary, paths, ports), {
    cwd: paths.home,
    detached: true,
    stdio: ['ignore', descriptor, descriptor],
    env: { ...collectorSettings, ...process.env },
  })
  closeSync(descriptor)
  child.unref()
  const { pid } = child
  if (pid !== undefined) onSpawn(pid)
  using _ = killedAtExit(child)
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('exit', (code, signal) => resolve(`it ended with ${signal ?? code}`))
  })
  let end: string | undefined
  void ended.then((reason) => {
    end = reason
  })
  const deadline = clock.monotonic() + readyDeadlineMs
  let lastError: unknown
  let answeredAt: number | undefined
  while (end === undefined && pid !== undefined && signal?.aborted !== true && clock.monotonic() < deadline) {
    try {
      const clusterId = await prepareServer(ports.port)
      answeredAt ??= clock.monotonic()
      const announced = readLogFrom(paths.log, size).includes(announcement)
      if (announced || clock.monotonic() - answeredAt > unannouncedMs)
        return { ...ports, pid, child, clusterId }
    } catch (error) {
      lastError = error
    }
    await clock.sleep(readyPollMs)
  }
  if (pid !== undefined && end === undefined) await stopProcess(pid)
  signal?.throwIfAborted()
  const reason = end ?? `it did not answer within ${readyDeadlineMs / 1000} s`
  throw explainFailure(`${reason}\n${readLogFrom(paths.log, size)}`, paths, ports, lastError)
}

/** A server that is being launched has no user yet who could leave it. */
function killedAtExit(child: ChildProcess): Disposable {
  const take = atExit(() => child.kill('SIGKILL'))
  return { [Symbol.dispose]: take }
}

/** Asks a server for its identity. @returns undefined when nothing answers there */
export async function identifyServer(port: number): Promise<string | undefined> {
  try {
    return await withConnection(port, async (connection) => {
      const cluster = await connection.workflowService.getClusterInfo({})
      return cluster.clusterId
    })
  } catch {
    return undefined
  }
}

/** @returns the server's identity, once its namespace is ready for work */
function prepareServer(port: number): Promise<string> {
  return withConnection(port, async (connection) => {
    const cluster = await connection.workflowService.getClusterInfo({})
    await raiseRetention(connection, embeddedNamespace)
    await ensureSearchAttributes(connection, embeddedNamespace)
    return cluster.clusterId
  })
}

async function withConnection<Result>(
  port: number,
  use: (connection: Connection) => Promise<Result>,
): Promise<Result> {
  const connection = await Connection.connect({
    ...withProxy({ address: loopbackAddress(port) }),
    connectTimeout: 3000,
  })
  try {
    return await connection.withDeadline(grpcDeadline(10_000), () => use(connection))
  } finally {
    await connection.close()
  }
}

function serverArguments(binary: TemporalBinary, paths: ServerPaths, ports: ServerPorts): string[] {
  return [
    ...['server', 'start-dev', '--ip', loopback, '--log-level', 'warn'],
    ...['--port', String(ports.port), '--ui-port', String(ports.uiPort)],
    ...fileArguments(paths.database),
    // A crash of the machine may cost the last milliseconds, a crash of the process nothing.
    ...['--sqlite-pragma', 'journal_mode=WAL', '--sqlite-pragma', 'synchronous=NORMAL'],
    // A page that many transactions write goes from the log into the file once: 32 MB of log instead of 4.
    ...['--sqlite-pragma', 'wal_autocheckpoint=8000', '--sqlite-pragma', `busy_timeout=${busyMs}`],
    ...dynamicSettings.flatMap((setting) => ['--dynamic-config-value', setting]),
    ...searchAttributeFlags().flatMap((flag) => ['--search-attribute', flag]),
    ...(binary.canDisableNews ? ['--ui-disable-news-fetch'] : []),
  ]
}

const sqliteMagic = 'SQLite format 3\u0000'

/** The server would say so too, after seconds and in words about an "admin DB". */
function refuseForeignFile(database: string): void {
  if (!existsSync(database)) return
  if (statSync(database).size === 0) {
    // The log of a missing file cannot be distinguished from another file's log.
    if (sizeOf(`${database}-wal`) > 0) throw corruptFile(database)
    // The server would take it for one of another version.
    rmSync(database)
    return
  }
  const head = Buffer.alloc(sqliteMagic.length)
  const descriptor = openDatabase(database)
  try {
    readSync(descriptor, head, 0, head.length, 0)
  } finally {
    closeSync(descriptor)
  }
  if (head.toString('latin1') !== sqliteMagic) throw corruptFile(database)
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

function openDatabase(database: string): number {
  try {
    return openSync(database, 'r+')
  } catch (error) {
    throw new TemporalFault(
      'no_permission',
      `${database} cannot be opened for writing: make it writable, or choose another directory with --home.`,
      { cause: error },
    )
  }
}

function corruptFile(database: string, cause?: unknown): TemporalFault {
  return new TemporalFault(
    'corrupt_file',
    `${database} is damaged or no Temporal file. Put a copy of it back, or move it away (mv ${shellWord(database)} ${shellWord(`${database}.broken`)}) and start again: checkpoints and results are kept elsewhere in the home directory, only the workflows start over.`,
    { cause },
  )
}

function openLog(file: string): { descriptor: number; size: number } {
  if (existsSync(file) && statSync(file).size > logLimitBytes) renameSync(file, `${file}.old`)
  const descriptor = openSync(file, 'a')
  return { descriptor, size: statSync(file).size }
}

function readLogFrom(file: string, offset: number): string {
  return readFileSync(file)
    .subarray(offset, offset + explainedBytes)
    .toString('utf8')
}

/** Reads the server's own words. */
export function explainFailure(
  words: string,
  paths: ServerPaths,
  ports: ServerPorts,
  cause: unknown,
): TemporalFault {
  const options = { cause }
  if (/address already in use/i.test(words))
    return new TemporalFault(
      'port_in_use',
      `Port ${ports.port} or ${ports.uiPort} is used by another program: end that program, or remove ${paths.record} so that other ports are chosen.`,
      options,
    )
  if (/file is not a database|disk image is malformed|database corrupt/i.test(words))
    return corruptFile(paths.database, cause)
  if (/no such (table|column)|has no column named/i.test(words))
    return new TemporalFault(
      'incompatible_file',
      `${paths.database} was written by another version of Temporal, which this one cannot read: use the version that wrote it (PERDURE_TEMPORAL_CLI names a binary), or start afresh with another --home.`,
      options,
    )
  if (/permission denied|readonly database|unable to open database file/i.test(words))
    return new TemporalFault(
      'no_permission',
      `The server may not write ${paths.database}: make the file and its folder writable, or choose another directory with --home.`,
      options,
    )
  if (/no space left|disk is full/i.test(words))
    return new TemporalFault(
      'disk_full',
      `The disk of ${paths.home} is full: make room, or choose another directory with --home.`,
      options,
    )
  return new TemporalFault(
    'start_failed',
    `The Temporal server did not start: ${words.trim().split('\n').slice(0, 6).join('\n')}\nIts log is ${paths.log}; \`perdure doctor\` checks this machine.`,
    options,
  )
}

/** Functions that run at an exit, without waiting. */
const departures = new Set<() => void>()

/** Has something done if the process exits. @returns takes it back */
export function atExit(leave: () => void): () => void {
  // Before the listener that replaces a process whose threads still compute.
  if (departures.size === 0) process.prependListener('exit', departAll)
  departures.add(leave)
  return () => {
    departures.delete(leave)
    if (departures.size === 0) process.off('exit', departAll)
  }
}

function departAll(): void {
  for (const leave of departures) {
    try {
      leave()
    } catch (error) {
      // The exit continues, and what it left can be named at least.
      process.stderr.write(`error: ${String(error)}\n`)
    }
  }
}
