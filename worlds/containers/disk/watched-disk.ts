/**
 * The disk of one container as its watch sees it.
 *
 * Invariants
 * - A container that is over its limit, or cannot be counted, is ended while it is stopped: it writes nothing more.
 * - A container that exits during a count is not an error; its exit status says who caused it.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type Docker from 'dockerode'
import { z } from 'zod'
import { ContainerFault } from '../fault.ts'
import type { Container, ContainerSpec, InspectorSpec } from '../sandbox.ts'
import { countDeadlineMs, countScript, type DiskUse, readCount } from './disk-count.ts'
import { diskLimit, type Watched } from './disk-watch.ts'

/** The watch's view of a container, and its means to stop it. */
export interface DiskOwner {
  readonly docker: Docker.Container
  readonly spec: ContainerSpec
  /** One of its processes, by which its files are seen. */
  readonly pid: number
  /** Whether an inspector looks at it, or is about to. */
  readonly isStill: () => boolean
  /** Settles when the container's connection has ended. */
  readonly whenClosed: Promise<void>
  /** @returns undefined where it cannot be stopped in time */
  look(spec: InspectorSpec, withinMs: number): Promise<Container | undefined>
  /** Ends it for what the agent did. */
  end(why: 'out_of_disk'): void
  /** Ends it for another's failure. */
  lose(fault: unknown): void
}

/** A container that cannot be stopped writes on, so it is not waited for as long as for a grader. */
const standstillMs = 5_000
/** The connection ends a moment after the container. */
const closingMs = 2_000
/** And on a busy machine when the engine has had its turn, so that one it calls gone is waited for. */
const goneMs = 30_000
/** These show the files of an image as the same in each container. */
const layered = /overlay|aufs|stargz/
const inspected = z.object({
  Driver: z.string().default(''),
  GraphDriver: z.object({ Data: z.object({ UpperDir: z.string().optional() }).nullish() }).nullish(),
})
/** Pages of files: of cgroups of the second and the first version. */
const statistics = z.object({
  memory_stats: z.object({
    stats: z.object({ file: z.number().optional(), total_cache: z.number().optional() }).default({}),
  }),
})

/** Undefined for a container that may write nowhere but into memory. */
export function watchedDisk(owner: DiskOwner): Watched | undefined {
  const { docker, spec } = owner
  if (spec.diskBytes === undefined) return undefined

  async function count(isOver: (use: DiskUse | undefined) => boolean): Promise<void> {
    const inspector = await owner.look(
      { image: spec.image, memoryBytes: 2 ** 27, processes: 32, tmpfs: { '/tmp': 2 ** 25 } },
      standstillMs,
    )
    if (inspector === undefined) {
      if (isOver(undefined)) owner.end('out_of_disk')
      return
    }
    try {
      const { Driver } = inspected.parse(await docker.inspect())
      const result = await inspector.exec(countScript(owner.pid, layered.test(Driver)), {
        deadlineMs: countDeadlineMs,
      })
      if (isOver(readCount(result, spec.image))) owner.end('out_of_disk')
    } finally {
      await inspector.release()
    }
  }

  return {
    spec,
    limit: diskLimit(spec.diskBytes),
    get still() {
      return owner.isStill()
    },
    async layer() {
      return inspected.parse(await docker.inspect()).GraphDriver?.Data?.UpperDir
    },
    count,
    async cached() {
      const report: unknown = await docker.stats({ stream: false, 'one-shot': true })
      const { file, total_cache } = statistics.parse(report).memory_stats.stats
      return file ?? total_cache ?? 0
    },
    async unwatched(fault) {
      const isGone = fault instanceof ContainerFault && fault.kind === 'session_lost'
      const closed = await Promise.race([
        owner.whenClosed.then(() => true),
        delay(isGone ? goneMs : closingMs, false, { ref: false }),
      ])
      if (!closed) owner.lose(fault)
    },
  }
}
