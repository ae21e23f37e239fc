/**
 * A home without runs, whose workers have nothing to do: often the wrong `--home`, or a store that is not the one that the
 * other processes of a fleet use.
 */
import { reasonOf } from '../../faults/reason.ts'
import { ownServer, parseWorkflowId } from '../../identity/identity.ts'
import { grpcDeadline } from '../../machine/services/clock.ts'
import type { SessionParts } from '../run/run-calls.ts'

const lookDeadlineMs = 10_000
/** At most so many runs are looked at, and so many of each home named. */
const looked = 200
const named = 3

type Parts = Pick<SessionParts, 'home' | 'store' | 'server' | 'homeName' | 'client'>

/** @returns what a worker says of a home without runs, with the homes that its server knows; undefined where it has some */
export async function emptyHomeNotice(parts: Parts): Promise<string | undefined> {
  const { home, store, server, homeName } = parts
  if ((await store.runs.list()).length > 0) return undefined
  const notice = `${home.storeFile} has no runs: this worker has nothing to do until one is started with the same home`
  if (server.isOwn) return notice
  return `${notice}. The server at ${server.address} knows this home as ${homeName}; ${await othersInWords(parts)}`
}

async function othersInWords(parts: Parts): Promise<string> {
  try {
    const homes = await homesInProgress(parts)
    if (homes.size === 0) return 'no home has runs in progress there'
    return `runs in progress there belong to ${[...homes].map(([name, runs]) => homeWords(name, runs)).join(', ')}`
  } catch (error) {
    // The worker works without the list.
    return `the homes that have runs there cannot be listed (${reasonOf(error)})`
  }
}

/** The names of running runs by the home that they belong to, as the server has them. */
async function homesInProgress({ client, server }: Parts): Promise<ReadonlyMap<string, readonly string[]>> {
  const query = 'WorkflowType = "trainingRun" AND ExecutionStatus = "Running"'
  const found: { readonly home: string; readonly run: string }[] = []
  await client.withDeadline(grpcDeadline(lookDeadlineMs), async () => {
    for await (const { workflowId } of client.workflow.list({ query })) {
      const { home, id } = parseWorkflowId(workflowId)
      found.push({ home: home === ownServer ? server.namespace : home, run: id })
      if (found.length >= looked) break
    }
  })
  const homes = Map.groupBy(found, ({ home }) => home)
  return new Map([...homes].map(([home, runs]) => [home, runs.map(({ run }) => run).sort()]))
}

function homeWords(name: string, runs: readonly string[]): string {
  const more = runs.length > named ? ` and ${runs.length - named} more` : ''
  return `${name} (${runs.slice(0, named).join(', ')}${more})`
}
