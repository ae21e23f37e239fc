/** A run of the home that is shown, with what it last stored of itself. */
import { createStoredRuns } from '../../client/run/stored-runs.ts'
import type { RunConfig } from '../../config/schema/schema.ts'
import type { TrainingState } from '../../contract/training-state.ts'
import { Fault } from '../../faults/fault.ts'
import { isRunName, type RunId, runId } from '../../identity/identity.ts'
import type { RunPhase } from '../../learning/run/run-phase.ts'
import type { AuditEntry } from '../../storage/records/audit.ts'
import type { StoredRun } from '../../storage/records/runs.ts'
import type { RefusalKind } from '../contract/routes.ts'
import type { ShownHome } from '../home/shown-home.ts'

export interface ShownRun {
  readonly id: RunId
  readonly record: StoredRun
  readonly config: RunConfig
  readonly state: TrainingState
  readonly trail: readonly AuditEntry[]
}

/** @throws Refused `unknown` */
export async function knownRun(shown: ShownHome, name: string): Promise<ShownRun> {
  const record = isRunName(name) ? await shown.store.runs.get(runId(name)) : undefined
  if (record === undefined) throw new Refused('unknown', `${shown.home.dir} has no run "${name}"`)
  const runs = createStoredRuns(shown)
  const { id, config } = await runs.known(name)
  return { id, record, config, state: await runs.lastState(name), trail: await shown.store.audit.list(id) }
}

/** The phase as the run last stored it, with the orders that it has taken since. */
export function phaseOf({
  record,
  state,
  trail,
}: Pick<ShownRun, 'record' | 'trail'> & { readonly state: Pick<TrainingState, 'phase'> }): RunPhase {
  if (record.status !== 'running') return record.status
  const last = trail.findLast(({ what }) => what === 'pause' || what === 'continue' || what === 'stop')
  if (last?.what === 'pause') return 'paused'
  if (last?.what === 'stop') return 'stopping'
  return state.phase === 'paused' || state.phase === 'stopping' ? 'training' : state.phase
}

/** Why it ended or is paused, in words. */
export function detailOf(run: ShownRun): string | undefined {
  if (phaseOf(run) !== 'paused') return run.record.detail
  return run.trail.findLast(({ what }) => what === 'pause')?.reason ?? undefined
}

/** A question that has no answer: it becomes a refusal of its kind, with its message. */
export class Refused extends Fault<RefusalKind> {
  override readonly name = 'Refused'
}
