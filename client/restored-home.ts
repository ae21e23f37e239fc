/**
 * Homes whose parts are not of one time or one key: a store from a backup beside a newer Temporal file, or the other way
 * round, and workflows that the keys of this process do not open.
 *
 * Invariants
 * - [RESTORED-1] Workflows whose payloads cannot be read are refused before any worker takes work it could only fail.
 * - [RESTORED-2] Workflows of a later time than the store are refused then too: what they took in would leave a gap
 *   in it. A workflow says which version it published only after the store has it.
 * - [RESTORED-3] A workflow of an earlier time than the store is given up, and the run continues from the store,
 *   where all that it would do again is done.
 */
import { Client, Connection } from '@temporalio/client'
import type { Payload } from '@temporalio/common'
import { reasonOf } from '../faults/reason.ts'
import { type RunId, workflowIdOf } from '../identity/identity.ts'
import { shellWord } from '../machine/shell-word.ts'
import type { Home } from '../storage/home.ts'
import type { StoredRun } from '../storage/runs.ts'
import { describedExecution, startPayloads } from '../temporal/histories.ts'
import {
  type KeyRing,
  keyRing,
  keysVariable,
  PayloadFault,
  payloadCodec,
  requiredKey,
  unread,
} from '../temporal/payload-encryption.ts'
import { searchAttributes } from '../workflows/messages.ts'
import { SessionFault } from './session-fault.ts'
import type { SessionHome } from './session-home.ts'

const lookDeadlineMs = 10_000

/**
 * Looks at every run in progress, before anything is done for it.
 * @returns runs whose workflows are older than the store, with the words for it
 * @throws PayloadFault which key is missing or wrong, and where it is given; SessionFault `refused` where the store is
 *   older than the workflows
 */
export async function findOlderWorkflows({
  home,
  store,
  server,
  homeName,
}: Pick<SessionHome, 'home' | 'store' | 'server' | 'homeName'>): Promise<Map<RunId, string>> {
  const running = (await store.runs.list()).filter(({ status }) => status === 'running')
  const older = new Map<RunId, string>()
  if (running.length === 0) return older
  const ring = keyRing()
  const connection = await Connection.connect(server.options)
  try {
    const client = new Client({ connection, namespace: server.namespace, dataConverter: unread })
    for (const run of running)
      await connection.withDeadline(Date.now() + lookDeadlineMs, async () => {
        const workflowId = workflowIdOf(homeName, run.id)
        await requireKey(run.id, await startPayloads(client, workflowId), ring)
        const published = await publishedBy(client, workflowId)
        if (published !== undefined && published > (run.version ?? -1))
          throw olderStore(run, published, server.embedded ? home : undefined)
        // A process that was killed may not have come to say it of the last one.
        if (published !== undefined && published < (run.version ?? 0) - 1)
          older.set(
            run.id,
            `the workflows are older than the store: they have published version ${published} of run ${run.id}, it has version ${run.version}; the run continues from what the store holds`,
          )
      })
  } finally {
    await connection.close()
  }
  return older
}

async function requireKey(
  run: RunId,
  payloads: readonly Payload[],
  ring: KeyRing | undefined,
): Promise<void> {
  const key = payloads.map(requiredKey).find((each) => each !== undefined)
  if (key === undefined) return
  try {
    if (ring === undefined)
      throw new PayloadFault('unknown_key', `it is encrypted with the key "${key}", and no keys are set`)
    await payloadCodec(ring).decode([...payloads])
  } catch (error) {
    if (!(error instanceof PayloadFault)) throw error
    throw new PayloadFault(
      error.kind,
      `run ${run} cannot be read: ${reasonOf(error)}; set ${keysVariable} with the key that it was started with`,
      { cause: error },
    )
  }
}

/** The version that a run's workflow says it has published; undefined where none is running. */
async function publishedBy(client: Client, workflowId: string): Promise<number | undefined> {
  const execution = await describedExecution(client, workflowId)
  return execution?.status.name === 'RUNNING'
    ? execution.typedSearchAttributes.get(searchAttributes.version)
    : undefined
}

function olderStore({ id, version }: StoredRun, published: number, home: Home | undefined): SessionFault {
  const has = version === undefined ? 'no version' : `version ${version}`
  const file = home?.temporalFile
  const wayOut =
    file === undefined
      ? `or give the copy a Temporal namespace of its own`
      : `or move the workflows away (mv ${shellWord(file)} ${shellWord(`${file}.newer`)}) and resume: the run then continues from what the store holds`
  return new SessionFault(
    'refused',
    `the store is older than the workflows: it has ${has} of run ${id}, they have published version ${published}; put the newer store.db back, ${wayOut}`,
  )
}
