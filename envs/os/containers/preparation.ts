/**
 * Machines made ready for an item, for the agent and for the grader alike.
 *
 * Invariants
 * - An item's own scripts run with dice of its own: bash's RANDOM starts from the item's name, so the same item is
 *   the same machine.
 */
import { seedOf } from '../../../identity/identity.ts'
import type { Container, Sandbox } from '../../../worlds/containers/sandbox.ts'
import type { Need, OsItem } from '../item.ts'
import { continued, lineOf } from './invocation.ts'
import { machineSpec } from './spec.ts'

/** How the containers of a task are had. */
export interface MachineRoom {
  readonly sandbox: Sandbox
  /** The image of an item's recipe, made where it is missing. @throws EnvironmentFault */
  imageOf(recipe: string): Promise<string>
  readonly scriptMs: number
  /** Milliseconds that one check may take; a minute by default. */
  readonly checkMs?: number
  /** Needs of all items, besides those that each item names; none by default. */
  readonly needs?: readonly Need[]
}

/** Preparing downloads nothing and computes little; the slowest official one writes some megabytes. */
const prepareMs = 120_000

/** A new container in which the item's scripts have run. */
export async function preparedMachine(item: OsItem, room: MachineRoom): Promise<Container> {
  const needs = [...(item.needs ?? []), ...(room.needs ?? [])]
  const container = await room.sandbox.acquire(machineSpec(await room.imageOf(item.image), needs))
  try {
    // RANDOM has fifteen bits.
    const dice = seedOf(0, 'os', item.id) % 32_768
    for (const script of item.init) {
      const code = script.language === 'bash' ? `RANDOM=${dice}\n${script.code}` : script.code
      // A script that fails has made the machine what it is: published items count on it.
      await container.exec(lineOf({ ...script, code }), { deadlineMs: prepareMs })
    }
    if (item.start !== undefined)
      await container.exec(continued(item.start.language === 'bash' ? item.start.code : lineOf(item.start)), {
        deadlineMs: prepareMs,
      })
    return container
  } catch (cause) {
    await container.release()
    throw cause
  }
}
