/**
 * The run that a call names: it is looked for before anything starts.
 *
 * Invariants
 * - Every command with an argument that names a run passes here; one that reports an unknown run starts no server.
 */
import type { Command } from 'commander'
import { parseWorkflowId } from '../identity/identity.ts'
import { type RunVersion, runName } from './options.ts'
import { requireRun } from './run-record.ts'

/** What names a run, by the name of the argument. */
const runOf: Readonly<Record<string, (given: never) => string>> = {
  run: (given: string) => given,
  'run[@version]': ({ run }: RunVersion) => run,
  // What a page of the UI shows may begin with the name of a home.
  episode: (given: string) => runName(parseWorkflowId(given).id.split('/')[0] ?? ''),
}

/** @throws CallFault where the home of the call has no run of the name that it gives */
export async function requireNamedRun(command: Command): Promise<void> {
  const { home } = command.opts<{ readonly home?: string }>()
  for (const [at, argument] of command.registeredArguments.entries()) {
    const given = command.processedArgs[at]
    const name = given === undefined ? undefined : runOf[argument.name()]?.(given as never)
    if (home !== undefined && name !== undefined) await requireRun(home, name)
  }
}
