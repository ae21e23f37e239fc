/**
 * One container: made, attached, used by one session, removed.
 *
 * Invariants
 * - What ends the container from inside is an answer with `ended`, and so is everything asked of it afterwards.
 * - `release` leaves no container and no lease; it may be called twice, and at any moment. A container that the
 *   engine does not remove in time is left to the reaper, and to the next call.
 */
import type { Duplex, Readable } from 'node:stream'
import type Docker from 'dockerode'
import { reasonOf } from '../../reason.ts'
import { EnvironmentFault } from '../environment.ts'
import type { LeaseHolder } from '../lease.ts'
import { entriesOf, requireInside, tarOf } from './archive.ts'
import { containerSettings, type Ownership } from './container-settings.ts'
import type { DiskWatch } from './disk-watch.ts'
import { endingOf } from './ending.ts'
import { type Engine, engineFault, isGone, statusOf } from './engine.ts'
import { runThroughEngine } from './engine-exec.ts'
import { inspectorSettings, inspectorSpec } from './inspector.ts'
import type { Container, ContainerEnded, ContainerSpec, ExecResult, InspectorSpec } from './sandbox.ts'
import { linkShell, type ShellLink } from './shell-link.ts'
import { interruptSignal } from './shell-script.ts'
import { Standstill } from './standstill.ts'
import { watchedDisk } from './watched-disk.ts'

/** Whose containers these are. */
export interface Maker {
  readonly engine: Engine
  readonly scope: string
  readonly leases: LeaseHolder
  /** Hears of containers that could not be removed in time. */
  readonly log: (line: string) => void
  /** Watches those that may write to the engine's disk. */
  readonly disks: DiskWatch
}

/** A shell starts in milliseconds; beside a dozen of starting containers on a busy machine in seconds. */
const startDeadlineMs = 30_000
/** Processes stop in milliseconds, and on a busy machine when each has had its turn. */
const standstillMs = 30_000
const defaultCopyBytes = 2 ** 20

/** Makes and starts a container under a lease. @throws EnvironmentFault `bad_settings`, `backend` */
export function startContainer(maker: Maker, spec: ContainerSpec): Promise<Container> {
  return start(maker, spec, (lease) => containerSettings(spec, lease))
}

async function start(
  maker: Maker,
  spec: ContainerSpec,
  settingsOf: (lease: Ownership) => Docker.ContainerCreateOptions,
): Promise<Container> {
  const { engine, leases } = maker
  let lost = false
  const made = Date.now()
  const id = await leases.hold('container', () => {
    lost = true
  })
  const docker = engine.docker.getContainer(id)
  const flooded = Promise.withResolvers<void>()
  try {
    await engine.docker.createContainer(settingsOf({ id, scope: maker.scope, owner: leases.owner }))
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
      throw new EnvironmentFault('bad_settings', `the container engine has no image ${spec.image}`, {
        cause: error,
      })
    throw engineFault(error, `starting a container of ${spec.image}`)
  }
}

async function notStarted(engine: Engine, spec: ContainerSpec, id: string, made: number) {
  const ended = await endingOf(engine, id, made).catch(() => 'killed')
  return new EnvironmentFault(
    'backend',
    `a container of ${spec.image} did not start its shell (${ended}): the image needs /bin/sh, and the memory for it`,
  )
}

interface Parts {
  readonly maker: Maker
  readonly spec: ContainerSpec
  readonly id: string
  readonly made: number
  readonly docker: Docker.Container
  readonly shell: ShellLink
  /** Of the shell, as the container's processes have it. */
  readonly pid: number
  readonly isLost: () => boolean
  /** Settles when it says far too much while it was asked nothing. */
  readonly whenFlooded: Promise<void>
}

function createContainer({
  maker,
  spec,
  id,
  made,
  docker,
  shell,
  pid,
  isLost,
  whenFlooded,
}: Parts): Container {
  const { engine, leases } = maker
  let ended: ContainerEnded | undefined
  let removal: Promise<void> | undefined
  let given = true
  let released: Promise<void> | undefined
  /** Why it was ended, where that was another's failure. */
  let lost: unknown
  const whenReleased = Promise.withResolvers<void>()

  /** Ends the container for what the agent did. */
  function end(why: ContainerEnded): void {
    ended ??= why
    close()
  }

  function close(): void {
    // The engine waits with a removal for who reads slowly.
    shell.close()
    removal ??= remove(docker)
    // The agent's own slowness is no fault of the command in hand; release tries once more.
    removal.catch(() => undefined)
  }
  void whenFlooded.then(() => end('killed'))

  function requireUsable(): void {
    if (!given) throw new EnvironmentFault('session_lost', `container ${id} was released`)
    if (lost !== undefined) throw engineFault(lost, `watching the disk of container ${id}`)
    if (isLost())
      throw new EnvironmentFault('session_lost', `the lease of container ${id} expired before it was renewed`)
  }

  /** After the connection has ended: whose doing it was. @throws EnvironmentFault */
  async function settleEnding(): Promise<void> {
    if (ended === undefined && shell.closed) {
      requireUsable()
      ended = await endingOf(engine, id, made)
    }
  }

  const inspectors = new Set<Promise<Container>>()
  const standstill = new Standstill(docker)

  /**
   * A second container that looks at this one, which stands still until that is released.
   * @returns undefined where this one cannot be stopped
   */
  async function look(wanted: InspectorSpec, patienceMs: number): Promise<Container | undefined> {
    const goOn = await standstill.hold(patienceMs)
    if (goOn === undefined) return undefined
    try {
      requireUsable()
      const starting = start(maker, inspectorSpec(wanted, spec), (lease) =>
        inspectorSettings(wanted, lease, { spec, id }),
      )
      inspectors.add(starting)
      return releasing(await starting, goOn)
    } catch (error) {
      await goOn()
      throw error
    }
  }

  const disk = watchedDisk({
    docker,
    spec,
    pid,
    isStill: () => standstill.isHeld,
    whenClosed: shell.whenClosed,
    look,
    end,
    lose(fault) {
      lost ??= fault
      close()
    },
  })

  /** Returns when what was done so far is known to be within the limits of the disk, or has ended the container. */
  async function settleDisk(): Promise<void> {
    if (ended !== undefined || disk === undefined) return
    await maker.disks.settle(disk)
    if (ended === undefined && lost !== undefined) requireUsable()
  }

  const gone = (): ExecResult => ({
    exitCode: 137,
    stdout: '',
    stderr: '',
    timedOut: false,
    truncated: false,
    ...(ended === undefined ? {} : { ended }),
  })

  async function guarded<T>(what: string, work: () => Promise<T>): Promise<T> {
    requireUsable()
    try {
      return await work()
    } catch (error) {
      if (error instanceof RangeError) throw error
      throw engineFault(error, `${what} container ${id}`)
    }
  }

  const container: Container = {
    id,
    whenReleased: whenReleased.promise,
    get alive() {
      return ended === undefined && given && !shell.closed && !isLost()
    },
    get ended() {
      return ended
    },

    exec: (script, options) =>
      guarded('a command in', async () => {
        await settleEnding()
        if (ended !== undefined) return gone()
        if (disk !== undefined) maker.disks.begin(disk)
        const { answer, lost: silent } = await shell.ask(script, options)
        if (silent) end('killed')
        await settleEnding()
        await settleDisk()
        return ended === undefined ? answer : { ...answer, ended }
      }),

    run: (command, options = {}) =>
      guarded('a program in', async () => {
        await settleEnding()
        if (ended !== undefined) return gone()
        if (disk !== undefined) maker.disks.begin(disk)
        const result = await runThroughEngine(engine, docker, command, options, () => end('killed'))
        await settleEnding()
        await settleDisk()
        return ended === undefined ? result : { ...result, ended }
      }),

    copyIn: (files) =>
      guarded('copying into', async () => {
        await docker.putArchive(tarOf(files), { path: '/' })
      }),

    copyOut: (path, { bytes = defaultCopyBytes } = {}) =>
      guarded('copying out of', async () => {
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
      }),

    inspector: (inspector) =>
      guarded('inspecting', async () => {
        const looking = await look(inspector, standstillMs)
        if (looking !== undefined) return looking
        // One that cannot be stopped in time cannot be looked at, by its own doing.
        end('killed')
        throw new EnvironmentFault('session_lost', `container ${id} could not be stopped to be looked at`)
      }),

    release() {
      given = false
      released ??= (async () => {
        standstill.abandon()
        shell.close()
        for (const starting of await Promise.allSettled(inspectors))
          if (starting.status === 'fulfilled') await starting.value.release()
        try {
          await (removal?.catch(() => remove(docker)) ?? remove(docker))
          if (disk !== undefined) await maker.disks.end(disk)
          whenReleased.resolve()
        } catch (error) {
          released = undefined
          maker.log(`container ${id} could not be removed, which is left to the reaper: ${reasonOf(error)}`)
        }
        // What has no lease is removed by the next process that looks.
        await leases.drop(id)
      })()
      return released
    },
  }
  return container
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

/** Removes a container with what runs in it and returns when it is gone; one that is gone is no error. */
export async function remove(docker: Docker.Container): Promise<void> {
  try {
    await docker.remove({ force: true, v: true })
  } catch (error) {
    if (!isGone(error)) throw error
    // Somebody else may be at it, and what is half removed is still listed.
    if (statusOf(error) === 409)
      await docker.wait({ condition: 'removed' }).catch((late: unknown) => {
        if (!isGone(late)) throw late
      })
  }
}
