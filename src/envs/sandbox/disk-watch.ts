/**
 * Watches what a container writes, for engines that cannot limit it (overlay2 on ext4 has no quota).
 *
 * Invariants
 * - A single file never passes the limit (RLIMIT_FSIZE); what many files take is noticed within a period, and
 *   before the next command.
 * - There is one count at a time, and one that takes too long is over the limit: names without number keep the
 *   engine counting, and its memory grows with each count.
 */
import type Docker from 'dockerode'
import { z } from 'zod'

/** A disk takes a gigabyte a second at best; counting costs the engine a walk over what was written. */
const periodMs = 1_000

/** Counting takes milliseconds for what fits the limit, and on a busy machine seconds. */
const patienceMs = 10_000

const sized = z.object({ SizeRw: z.number().optional() })

export interface DiskWatch {
  /** Counts now, where the last count is old enough. */
  isOver(): Promise<boolean>
  /** Counts from time to time until it is disposed. */
  during(onOver: () => void): Disposable
}

export function createDiskWatch(docker: Docker.Container, limit: number | undefined): DiskWatch {
  let counted = Date.now()

  let counting: Promise<boolean> | undefined

  async function isOver(): Promise<boolean> {
    if (limit === undefined) return false
    if (counting === undefined && Date.now() - counted < periodMs) return false
    counting ??= count(limit).finally(() => {
      counted = Date.now()
      counting = undefined
    })
    return counting
  }

  async function count(most: number): Promise<boolean> {
    const late = Promise.withResolvers<undefined>()
    const timer = setTimeout(() => late.resolve(undefined), patienceMs)
    try {
      const asked = docker.inspect({ size: true } as object)
      const facts: unknown = await Promise.race([asked, late.promise])
      return facts === undefined || (sized.parse(facts).SizeRw ?? 0) > most
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    isOver,
    during(onOver) {
      const timer = setInterval(() => {
        // A container that is gone meanwhile is noticed by its connection.
        isOver().then(
          (over) => {
            if (over) onOver()
          },
          () => undefined,
        )
      }, periodMs)
      return { [Symbol.dispose]: () => clearInterval(timer) }
    },
  }
}
