/**
 * The claim of a store to the name of its fleet: two stores that work under one name would take each other's episodes.
 *
 * A copy has the name of its original, because a fleet's name follows from what the store holds. So the server keeps the
 * newest nonce of the store that works under the name, and a store without that nonce is another one.
 *
 * Invariants
 * - [CLAIM-1] A store that lacks the nonce of the server is refused before any of its workers takes work.
 * - [CLAIM-2] A nonce is in the store before the server has it: processes of one store know each other's.
 * - While a process works, its store adds a nonce every few seconds: a copy knows none that is newer than itself.
 * - A server that keeps no nonce, or does not answer, ends nothing that works.
 */
import { type Client, ScheduleNotFoundError } from '@temporalio/client'
import { reasonOf } from '../faults/reason.ts'
import type { HomeName } from '../identity/identity.ts'
import { chance } from '../machine/services/chance.ts'
import { clock } from '../machine/services/clock.ts'
import type { Nonces } from '../storage/records/leases.ts'
import { TemporalFault } from './server/fault.ts'

/** No one copies a store and starts on the copy within it; the server has two calls from each process in that time. */
const renewedEveryMs = 5_000

/** Where a server keeps the nonce of a name. */
export interface ClaimRegister {
  /** Undefined where there is none yet. */
  read(): Promise<string | undefined>
  write(nonce: string): Promise<void>
}

export interface Claim extends AsyncDisposable {
  /** Rejects when another store has claimed the name. */
  readonly lost: Promise<never>
}

interface Claimant {
  readonly nonces: Nonces
  readonly register: ClaimRegister
  /** The store and the name, for the refusal. */
  readonly file: string
  readonly name: HomeName
  readonly log: (line: string) => void
  readonly everyMs?: number
}

/** Claims the name for a store until it is disposed. @throws TemporalFault `copied_store` */
export async function claimName(claimant: Claimant): Promise<Claim> {
  const { log, everyMs = renewedEveryMs } = claimant
  const closing = new AbortController()
  const { signal } = closing
  const { promise: lost, reject } = Promise.withResolvers<never>()
  lost.catch(() => undefined)
  await renew(claimant)

  async function keep(): Promise<void> {
    while (!signal.aborted) {
      await clock.sleep(everyMs, { signal, ref: false }).catch(() => undefined)
      if (signal.aborted) return
      try {
        await renew(claimant)
      } catch (error) {
        if (error instanceof TemporalFault && error.kind === 'copied_store') return reject(error)
        if (!signal.aborted) log(`the claim to ${claimant.name} is renewed later: ${reasonOf(error)}`)
      }
    }
  }

  const keeping = keep()
  return {
    lost,
    async [Symbol.asyncDispose]() {
      closing.abort()
      await keeping
    },
  }
}

async function renew({ nonces, register, file, name }: Claimant): Promise<void> {
  const newest = await register.read()
  if (newest !== undefined && !(await nonces.has(newest)))
    throw new TemporalFault(
      'copied_store',
      `another store works as ${name} on this server, and ${file} is a copy of it or was put back from a backup: continue in the other one, or give this one another name in PERDURE_FLEET`,
    )
  const nonce = chance.uuid()
  await nonces.add(nonce, clock.now())
  await register.write(nonce)
}

/** Keeps the nonce in the note of a schedule that never fires. */
export function claimRegister(client: Client, name: HomeName): ClaimRegister {
  const scheduleId = `perdure-store@${name}`
  const handle = client.schedule.getHandle(scheduleId)
  return {
    async read() {
      try {
        return (await handle.describe()).state.note
      } catch (error) {
        if (error instanceof ScheduleNotFoundError) return undefined
        throw error
      }
    },
    async write(note) {
      try {
        await handle.update((before) => ({ ...before, state: { ...before.state, paused: true, note } }))
      } catch (error) {
        if (!(error instanceof ScheduleNotFoundError)) throw error
        await client.schedule.create({
          scheduleId,
          spec: {},
          action: { type: 'startWorkflow', workflowType: 'none', taskQueue: scheduleId, args: [] },
          state: { paused: true, note },
        })
      }
    },
  }
}
