/**
 * Known work: a state is stored after all work that it refers to.
 *
 * The store is flushed before a workflow receives a result, so a power cut keeps the order. A backup that was put back, or a disk that
 * reports writes before it makes them, can still leave a store older than the workflows. The state in such a store refers only to
 * work that the store has, so a run can always continue from there.
 *
 * Invariants
 * - [KNOWN-1] A state that refers to an update, a group or an evaluation that the store lacks is refused.
 * - [KNOWN-2] An episode without its turns is not sealed with a reward, and a group without its episodes is not recorded
 *   (`trajectory.ts`).
 * - [KNOWN-3] A state that lacks an order of the audit trail is refused: the server's file is older than the store, and has lost the order.
 */

import type { TrainingState } from '../../contract/training-state.ts'
import { type EpisodeId, evaluationId, groupId, type ParentId, type RunId } from '../../identity/identity.ts'
import { clock } from '../../machine/services/clock.ts'
import { StorageFault } from '../../storage/disk/fault.ts'
import type { Updates } from '../../storage/records/updates.ts'
import type { Store } from '../../storage/store.ts'
import { isSealed } from '../../storage/trajectories/episode.ts'

/** The last update of a state must be in the store; before the first update there is none. @throws StorageFault `missing` */
export async function requireUpdate(
  { updates }: { readonly updates: Pick<Updates, 'get'> },
  run: RunId,
  step: number,
): Promise<void> {
  if (step > 0 && (await updates.get(run, step)) === undefined) throw lacking(`update ${step} of ${run}`)
}

/** @throws StorageFault `missing` with the first thing that the store lacks */
export async function requireKnownWork(
  store: Pick<Store, 'updates' | 'groups' | 'evaluations'>,
  state: TrainingState,
): Promise<void> {
  const { run, step, evaluations, config } = state
  await requireUpdate(store, run, step)
  for (const number of endedGroups(state)) {
    const group = groupId(run, number)
    if ((await store.groups.get(group))?.result === undefined) throw lacking(`group ${group}`)
  }
  for (const { suite, version } of evaluations) {
    const evaluation = evaluationId(run, suite, version, config.seed)
    if ((await store.evaluations.get(evaluation))?.result === undefined)
      throw lacking(`evaluation ${evaluation}`)
  }
}

/** Numbers of ended groups without those that an update which the state counts has consumed. */
export function endedGroups({
  ready,
  training,
  skipped,
}: Pick<TrainingState, 'ready' | 'training' | 'skipped'>): readonly number[] {
  const numbers = [...training, ...ready].map(({ number }) => number)
  return [...numbers, ...skipped.flatMap((each) => each.numbers)]
}

/**
 * An order holds once it is in the audit trail, so the state of a later moment must know it.
 * @param at when the state was written by the run's workflow: orders may have followed. Milliseconds since the epoch
 * @throws StorageFault `conflict` with the first order that the state lacks
 */
export async function requireKnownOrders(
  store: Pick<Store, 'audit'>,
  { run, orders }: TrainingState,
  at: number,
): Promise<void> {
  const lost = (await store.audit.listFrom(run, orders)).find(({ time }) => time < at)
  if (lost !== undefined)
    throw new StorageFault(
      'conflict',
      `order ${lost.number} of ${run} (${lost.what}) is in the store and not in the run's workflow, which is older: the run continues from what the store has`,
    )
}

/**
 * The attempts of a group or an evaluation, when all of them have ended. An attempt that counts must be sealed. Any other that is
 * not sealed lost its end: it is sealed as lost too.
 * @throws StorageFault `missing`
 */
export async function requireSealed(
  store: Pick<Store, 'episodes'>,
  parent: ParentId,
  counted: readonly EpisodeId[],
): Promise<void> {
  // Episodes of a group that was ended from outside may still be ending.
  if (counted.length === 0) return
  const episodes = await store.episodes.list(parent)
  const sealed = new Set(episodes.filter(isSealed).map(({ id }) => id))
  const lost = counted.find((id) => !sealed.has(id))
  if (lost !== undefined) throw lacking(`the end of episode ${lost}`)
  for (const { id } of episodes)
    if (!sealed.has(id))
      await store.episodes.seal(id, { outcome: 'infrastructure_error', reward: null, ended: clock.now() })
}

function lacking(what: string): StorageFault {
  return new StorageFault(
    'missing',
    `${what} is not in the store, which is older than the workflows: the work continues from what the store has`,
  )
}
