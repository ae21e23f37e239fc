/**
 * One container: made, attached, used by one session, removed.
 *
 * Invariants
 * - An end from inside the container is an answer with `ended`, and so is every later request to it.
 * - `release` leaves no container and no lease; it may be called twice, and at any moment. A container that the
 *   engine does not remove in time is left to the reaper, and to the next call.
 * - A path that goes in is absolute and has no `..`; links in the container may lead it astray, but never out
 *   of the container.
 * - Bytes that come out are counted before they are kept; links are listed, never followed.
 */

import { posix } from 'node:path'
import { type Duplex, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type Docker from 'dockerode'
import { extract, pack } from 'tar-stream'
import { reasonOf } from '../../faults/reason.ts'
import type { LeaseHolder } from '../../machine/processes/lease.ts'
import { containerSettings, inspectorSettings, inspectorSpec, type Ownership } from './container-settings.ts'
import type { DiskWatch } from './disk/disk-watch.ts'
import type { SizedLayers } from './disk/sized-layers.ts'
import { watchedDisk } from './disk/watched-disk.ts'
import { type Engine, engineFault, isGone, statusOf } from './engine.ts'
import { ContainerFault } from './fault.ts'
import { volumesOf } from './images.ts'
import { ContainerLife, endingOf, type LifeParts, remove } from './life/container-life.ts'
import { Standstill } from './life/standstill.ts'
import type { Container, ContainerSpec, EntryOut, ExecResult, FileIn, InspectorSpec } from './sandbox.ts'
import { linkShell } from './shell/shell-link.ts'
import { interruptSignal } from './shell/shell-script.ts'

/** Whose containers these are. */
export interface Maker {
  readonly engine: Engine
  readonly scope: string
  readonly leases: LeaseHolder
  /** Hears of containers that could not be removed in time. */
  readonly log: (line: string) => void
  /** Limits what they write, where the engine can. */
  readonly layers: SizedLayers
  /** Watches those that may write to the engine's disk. */
  readonly disks: DiskWatch
}

/** A shell starts in milliseconds; beside a dozen of starting containers on a busy machine in seconds. */
const startDeadlineMs = 30_000

/** Processes stop in milliseconds, and on a busy machine when each has had its turn. */
const standstillMs = 30_000

const defaultCopyBytes = 2 ** 20

/** The result of a command that finds the container ended: the status of a process that was killed. */
const ofEnded: ExecResult = { exitCode: 137, stdout: '', stderr: '', timedOut: false, truncated: false }

/** Makes and starts a container under a lease. @throws ContainerFault `bad_settings`, `backend` */
export function startContainer(maker: Maker, spec: ContainerSpec): Promise<Container> {
  return start(maker, spec, (lease, volumes) => containerSettings(spec, lease, volumes))
}

async function start(
  maker: Maker,
  spec: ContainerSpec,
  settingsOf: (lease: Ownership, volumes: readonly string[]) => Docker.ContainerCreateOptions,
): Promise<Container> {
  const { engine, leases, layers } = maker
  let lost = false
  const made = Date.now()
  const id = await leases.hold('container', () => {
    lost = true
  })
  const docker = engine.docker.getContainer(id)
  const flooded = Promise.withResolvers<void>()
  try {
    const lease = { id, scope: maker.scope, owner: leases.owner }
    const settings = settingsOf(lease, await volumesOf(engine, spec.image))
    await layers.create(engine.docker, settings, spec.diskBytes)
    const connection = await docker.attach({
      stream: true,
      hijack: true,
      stdin: true,
      stdout: true,
      stderr: true,
    })
    await docker.start()
    const interrupt = async () => {
      await docker.kill({ signal: interruptSignal }).catch((error: unknown) => {
        if (!isGone(error)) throw engineFault(error, `interrupting container ${id}`)
      })
    }
    const shell = linkShell(connection as Duplex, interrupt, () => flooded.resolve())
    // Once it has answered, the shell has read its prologue, and nothing of the agent's has run yet.
    const { answer } = await shell.ask('echo $PPID', { deadlineMs: startDeadlineMs })
    const pid = Number(answer.stdout)
    if (answer.exitCode !== 0 || !(pid > 0)) throw await notStarted(engine, spec, id, made)
    return createContainer({
      ...{ maker, spec, id, made, docker, shell, pid },
      isLost: () => lost,
      whenFlooded: flooded.promise,
    })
  } catch (error) {
    await remove(docker).catch(() => undefined)
    await leases.drop(id)
    if (statusOf(error) === 404)
      throw new ContainerFault('bad_settings', `the container engine has no image ${spec.image}`, {
        cause: error,
      })
    throw engineFault(error, `starting a container of ${spec.image}`)
  }
}

async function notStarted(engine: Engine, spec: ContainerSpec, id: string, made: number) {
  const ended = await endingOf(engine, id, made).catch(() => 'killed')
  return new ContainerFault(
    'backend',
    `a container of ${spec.image} did not start its shell (${ended}): the image needs /bin/sh, and the memory for it`,
  )
}

interface Parts extends Omit<LifeParts, 'engine'> {
  readonly maker: Maker
  readonly spec: ContainerSpec
  /** The process id of the shell inside the container. */
  readonly pid: number
  /** Settles when it says far too much while it was asked nothing. */
  readonly whenFlooded: Promise<void>
}

function createContainer(parts: Parts): Container {
  const { maker, spec, id, docker, shell } = parts
  const { engine, leases, disks } = maker
  const life = new ContainerLife({ ...parts, engine })
  const standstill = new Standstill(docker)
  const inspectors = new Set<Promise<Container>>()
  const whenReleased = Promise.withResolvers<void>()
  let released: Promise<void> | undefined
  void parts.whenFlooded.then(() => life.end('killed'))

  /**
   * A second container that looks at this one, which is stopped until that is released.
   * @returns undefined where this one cannot be stopped within the time
   */
  async function look(wanted: InspectorSpec, withinMs: number): Promise<Container | undefined> {
    const resume = await standstill.hold(withinMs)
    if (resume === undefined) return undefined
    try {
      life.requireUsable()
      const starting = start(maker, inspectorSpec(wanted, spec), (lease, volumes) =>
        inspectorSettings(wanted, lease, { spec, id }, volumes),
      )
      inspectors.add(starting)
      return releasing(await starting, resume)
    } catch (error) {
      await resume()
      throw error
    }
  }

  const disk = watchedDisk({
    ...{ docker, spec, pid: parts.pid, whenClosed: shell.whenClosed, look },
    isStill: () => standstill.isHeld,
    end: (why) => life.end(why),
    lose: (fault) => life.fail(fault),
  })

  /** Executes what the agent may do anything with. */
  function command(what: string, execute: () => Promise<ExecResult>): Promise<ExecResult> {
    return life.guarded(what, async () => {
      await life.settleEnding()
      if (life.ended !== undefined) return life.withEnding(ofEnded)
      if (disk !== undefined) await disks.begin(disk)
      const result = await execute()
      await life.settleEnding()
      if (disk !== undefined && life.ended === undefined) {
        // Then what was done so far is known to be within the limits of the disk, or has ended the container.
        await disks.settle(disk)
        life.requireUnfailed()
      }
      return life.withEnding(result)
    })
  }

  async function release(): Promise<void> {
    standstill.abandon()
    shell.close()
    for (const starting of await Promise.allSettled(inspectors))
      if (starting.status === 'fulfilled') await starting.value.release()
    try {
      await life.remove()
      if (disk !== undefined) await disks.end(disk)
      whenReleased.resolve()
    } catch (error) {
      released = undefined
      maker.log(`container ${id} could not be removed, which is left to the reaper: ${reasonOf(error)}`)
    }
    // A container without a lease is removed by the next process that looks.
    await leases.drop(id)
  }

  return {
    id,
    whenReleased: whenReleased.promise,
    get alive() {
      return life.alive
    },
    get ended() {
      return life.ended
    },

    exec: (script, options) =>
      command('a command in', async () => {
        const { answer, lost } = await shell.ask(script, options)
        if (lost) life.end('killed')
        return answer
      }),

    copyIn: (files) =>
      life.guarded('copying into', async () => {
        await docker.putArchive(tarOf(files), { path: '/' })
      }),

    copyOut: (path, { bytes = defaultCopyBytes } = {}) =>
      life.guarded('copying out of', () => copyOut(docker, path, bytes)),

    inspector: (inspector) =>
      life.guarded('inspecting', async () => {
        const looking = await look(inspector, standstillMs)
        if (looking !== undefined) return looking
        // A container that will not stop in time cannot be inspected; the agent is to blame.
        life.end('killed')
        throw new ContainerFault('session_lost', `container ${id} could not be stopped to be looked at`)
      }),

    release() {
      life.leave()
      released ??= release()
      return released
    },
  }
}

/** @returns undefined for what is not there */
async function copyOut(docker: Docker.Container, path: string, bytes: number) {
  requireInside(path)
  try {
    const tar = (await docker.getArchive({ path })) as Readable
    return await entriesOf(tar, path.slice(path.lastIndexOf('/') + 1), bytes)
  } catch (error) {
    // A missing container has the same status, and the client the same words for it.
    if (statusOf(error) === 404 && /could not find the file|no such file/i.test(String(error)))
      return undefined
    throw error
  }
}

/** The same container, with more to do when it is released. */
function releasing(container: Container, andThen: () => Promise<void>): Container {
  return Object.create(container, {
    release: {
      value: async () => {
        await container.release()
        await andThen()
      },
    },
  }) as Container
}

/** Entries read of one answer: a name takes memory too. */
const entryLimit = 10_000

/** The tar of files; folders on the way to them are left as they are, or made. @throws RangeError */
function tarOf(files: readonly FileIn[]): Readable {
  for (const { path } of files) requireInside(path)
  const tar = pack()
  for (const { path, content, mode = 0o644, uid = 0, gid = 0 } of files)
    tar.entry({ name: path.slice(1), mode, uid, gid, mtime: new Date(0) }, Buffer.from(content))
  tar.finalize()
  return Readable.from(tar)
}

/** @throws RangeError a path that is not absolute, or leaves what it names */
function requireInside(path: string): void {
  if (!path.startsWith('/') || path.includes('\0') || posix.normalize(path) !== path || path.endsWith('/'))
    throw new RangeError(`"${path}" is no absolute path of a file in a container`)
}

/**
 * Reads a tar.
 * @param root first part of its paths, the name of what was asked for
 * @param limit bytes kept of all files together
 */
async function entriesOf(
  tar: Readable,
  root: string,
  limit: number,
): Promise<{ entries: EntryOut[]; truncated: boolean }> {
  const entries: EntryOut[] = []
  let left = limit
  const parser = extract()
  tar.on('error', (error) => parser.destroy(error))
  tar.pipe(parser)
  try {
    for await (const entry of parser) {
      const { name, type, uid = 0, gid = 0, size = 0, linkname } = entry.header
      if (entries.length >= entryLimit || size > left) return { entries, truncated: true }
      const path = name.replace(/\/$/, '')
      const inside = path === root ? root : path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path
      // The engine adds the bits of the file's type, which the entry tells already.
      const facts = { path: inside, mode: (entry.header.mode ?? 0) & 0o7777, uid, gid }
      if (type === 'file' || type === 'contiguous-file') {
        const content = await buffer(entry)
        left -= content.length
        entries.push({ ...facts, kind: 'file', content })
        continue
      }
      entry.resume()
      if (type === 'directory') entries.push({ ...facts, kind: 'folder' })
      else if (type === 'symlink' || type === 'link')
        entries.push({ ...facts, kind: 'link', target: linkname ?? '' })
      else entries.push({ ...facts, kind: 'other' })
    }
    return { entries, truncated: false }
  } finally {
    tar.destroy()
    parser.destroy()
  }
}
