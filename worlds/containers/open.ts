/**
 * Opens a sandbox on a container engine.
 *
 * Invariants
 * - Containers without an owner are looked for when a sandbox is opened, and periodically while it is open.
 * - [OPEN-1] Sandboxes of one process leave each other's containers alone.
 * - `close` leaves no container of this sandbox, no lease and no timer.
 */
import { reasonOf } from '../../faults/reason.ts'
import {
  createProcessLeases,
  holdLeases,
  type LeaseStore,
  reapingPeriodMs,
} from '../../machine/processes/lease.ts'
import { type Maker, startContainer } from './container.ts'
import { DiskGauge } from './disk/disk-gauge.ts'
import { createDiskWatch } from './disk/disk-watch.ts'
import { SizedLayers } from './disk/sized-layers.ts'
import { connectEngine, engineSize } from './engine.ts'
import { buildImage, hasImage, imageFacts, importImage } from './images.ts'
import { type Janitor, startJanitor } from './life/janitor.ts'
import { reapContainers } from './life/reaper.ts'
import { createPool } from './pool.ts'
import type { Container, Sandbox } from './sandbox.ts'

export interface SandboxOptions {
  /** Address of the engine, `unix://…` or `tcp://…`; that of `DOCKER_HOST` by default, else Docker's socket. */
  readonly engine?: string | undefined
  /** Owners of the containers; leases of this process by default. */
  readonly leases?: LeaseStore | undefined
  /** Hears what goes wrong beside the work: containers that could not be made ready, a reaper that fails. */
  readonly log?: ((line: string) => void) | undefined
}

/** Shared by all that are given none: a sandbox takes a container without a lease for one that was lost. */
const ofProcess = createProcessLeases()

/** @throws ContainerFault `backend` where no engine answers, `bad_settings` for an address that is none */
export async function openSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { leases = ofProcess, log = () => undefined } = options
  const engine = await connectEngine(options.engine)
  const complain = (what: string) => (error: unknown) => log(`${what}: ${reasonOf(error)}`)
  const holder = holdLeases(leases, complain('leases of containers could not be renewed'))
  const live = new Set<Container>()
  let janitor: Janitor | undefined
  const gauge = new DiskGauge((spec) => startContainer(maker, spec))
  const disks = createDiskWatch(gauge)
  const layers = new SizedLayers()
  const maker: Maker = { engine, scope: leases.scope, leases: holder, layers, disks, log }
  const pool = createPool(async (spec) => {
    janitor ??= startJanitor(holder.owner, options.engine, log)
    const container = await startContainer(maker, spec)
    live.add(container)
    container.whenReleased.then(() => live.delete(container))
    return container
  }, log)

  let reaping: Promise<readonly string[]> | undefined
  function reap(): Promise<readonly string[]> {
    reaping ??= reapContainers(engine, leases).finally(() => {
      reaping = undefined
    })
    return reaping
  }
  const complainOfReaper = complain('containers without an owner could not be looked for')
  const timer = setInterval(() => void reap().catch(complainOfReaper), reapingPeriodMs)
  timer.unref()
  reap().catch(complainOfReaper)

  return {
    acquire: (spec) => pool.acquire(spec),
    keepWarm: (spec, count) => pool.keepWarm(spec, count),
    whenWarm: () => pool.whenWarm(),
    hasImage: (image) => hasImage(engine, image),
    importImage: (image, tar) => importImage(engine, image, tar),
    imageFacts: (image) => imageFacts(engine, image),
    buildImage: (image, tar, withinMs) => buildImage(engine, image, tar, withinMs),
    size: () => engineSize(engine),
    reap,
    async close() {
      clearInterval(timer)
      await pool.close()
      await Promise.all([...live].map((container) => container.release()))
      await disks.close()
      await reaping?.catch(() => undefined)
      await janitor?.close()
      holder.close()
    },
  }
}
