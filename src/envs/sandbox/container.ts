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
import { createDiskWatch } from './disk-watch.ts'
import { endingOf } from './ending.ts'
import { type Engine, EngineLate, engineFault, isGone, statusOf } from './engine.ts'
import { runThroughEngine } from './engine-exec.ts'
import { inspectorSettings, inspectorSpec } from './inspector.ts'
import type { Container, ContainerEnded, ContainerSpec, ExecResult } from './sandbox.ts'
import { linkShell, type ShellLink } from './shell-link.ts'
import { interruptSignal } from './shell-script.ts'

/** Whose containers these are. */
export interface Maker {
  readonly engine: Engine
  readonly scope: string
  readonly leases: LeaseHolder
  /** Hears of containers that could not be removed in time. */
  readonly log: (line: string) => void
}

/** A shell starts in milliseconds; beside a dozen of starting containers on a busy machine in seconds. */
const startDeadlineMs = 30_000
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
    // Once it has answered, the shell has read its prologue.
    const { answer } = await shell.ask(':', { deadlineMs: startDeadlineMs })
    if (answer.exitCode !== 0) throw await notStarted(engine, spec, id, made)
    return createContainer({
      ...{ maker, spec, id, made, docker, shell },
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
  readonly isLost: () => boolean
  /** Settles when it says far too much while it was asked nothing. */
  readonly whenFlooded: Promise<void>
}

function createContainer({ maker, spec, id, made, docker, shell, isLost, whenFlooded }: Parts): Container {
  const { engine, leases } = maker
  let ended: ContainerEnded | undefined
  let removal: Promise<void> | undefined
  let given = true
  let released: Promise<void> | undefined
  const whenReleased = Promise.withResolvers<void>()
  const disk = createDiskWatch(docker, spec.diskBytes)

  /** Ends the container for what the agent did. */
  function end(why: ContainerEnded): void {
    ended ??= why
    // The engine waits with a removal for who reads slowly.
    shell.close()
    removal ??= remove(docker)
    // The agent's own slowness is no fault of the command in hand; release tries once more.
    removal.catch(() => undefined)
  }
  void whenFlooded.then(() => end('killed'))

  function requireUsable(): void {
    if (!given) throw new EnvironmentFault('session_lost', `container ${id} was released`)
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

  async function checkDisk(): Promise<void> {
    if (ended === undefined && (await disk.isOver())) end('out_of_disk')
  }

  const inspectors = new Set<Promise<Container>>()

  async function resume(): Promise<void> {
    await docker.unpause().catch((error: unknown) => {
      // One that is gone is noticed by its next command.
      if (!isGone(error) && statusOf(error) !== 500) throw engineFault(error, `resuming container ${id}`)
    })
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
        using _watch = disk.during(() => end('out_of_disk'))
        const { answer, lost } = await shell.ask(script, options)
        if (lost) end('killed')
        await settleEnding()
        if (ended === undefined) await checkDisk()
        return ended === undefined ? answer : { ...answer, ended }
      }),

    run: (command, options = {}) =>
      guarded('a program in', async () => {
        await settleEnding()
        if (ended !== undefined) return gone()
        const result = await runThroughEngine(engine, docker, command, options, () => end('killed'))
        await settleEnding()
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

    inspector: (given) =>
      guarded('inspecting', async () => {
        await docker.pause().catch((error: unknown) => {
          // One that cannot be stopped in time cannot be looked at, by its own doing.
          if (error instanceof EngineLate || /freez/i.test(reasonOf(error))) end('killed')
          throw error
        })
        const starting = start(maker, inspectorSpec(given, spec), (lease) =>
          inspectorSettings(given, lease, { spec, id }),
        )
        inspectors.add(starting)
        try {
          return releasing(await starting, resume)
        } catch (error) {
          await resume()
          throw error
        }
      }),

    release() {
      given = false
      released ??= (async () => {
        shell.close()
        for (const starting of await Promise.allSettled(inspectors))
          if (starting.status === 'fulfilled') await starting.value.release()
        try {
          await (removal?.catch(() => remove(docker)) ?? remove(docker))
          whenReleased.resolve()
        } catch (error) {
          released = undefined
          maker.log(`container ${id} could not be removed, which is left to the reaper: ${reasonOf(error)}`)
        }
        // What has no lease is removed by whoever looks next.
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
