/**
 * Groups of the last updates that an update reads once more: those that it replays, and those that its algorithm compares with its own.
 *
 * Invariants
 * - They follow from the store's record of earlier updates and from the run's seed, so that a repeated update reads the same.
 */
import { type GroupId, type RunId, seedOf, uniforms } from '../../identity/identity.ts'
import { algorithms, isAlgorithmName } from '../../learning/algorithms/algorithms.ts'
import { rewardRules } from '../../learning/evaluation/reward.ts'
import { teaches } from '../../learning/rollout/refill.ts'
import { drawnReplays, earlierSteps } from '../../learning/rollout/replay.ts'
import { importAlgorithm } from '../../policy/trainer/algorithm-module.ts'
import { StorageFault } from '../../storage/disk/fault.ts'
import type { Groups, StoredGroup } from '../../storage/records/groups.ts'
import type { Episodes } from '../../storage/trajectories/episodes.ts'
import { turnsTeach } from './lesson.ts'
import type { BatchRules, EarlierGroups } from './update-batch.ts'

interface Played {
  readonly groups: Pick<Groups, 'get' | 'list'>
  readonly episodes: Pick<Episodes, 'trajectory'>
}

/** Finds them. @param own the groups of the update @throws ExternalFault of a custom algorithm that does not load */
export async function earlierGroups(
  store: Played,
  { run, step }: { readonly run: RunId; readonly step: number },
  own: readonly GroupId[],
  rules: BatchRules,
): Promise<EarlierGroups> {
  const { algorithm, replay } = rules.learning
  const reads = isAlgorithmName(algorithm) ? algorithms[algorithm] : await importAlgorithm(algorithm)
  const comparesEarlier = reads.readsEarlier === true
  const isRead = replay.share > 0 || comparesEarlier
  const earlier: StoredGroup[] = []
  for (const consumedBy of isRead ? earlierSteps(step, replay) : [])
    earlier.push(...(await store.groups.list(run, { consumedBy })))
  const replays = await replayedGroups(store, earlier, step, rules)
  if (!comparesEarlier) return { replays, compared: [] }
  const instances = new Set<string>()
  for (const id of own) instances.add(instanceOf(await store.groups.get(id)))
  const compared = earlier.filter(
    (group) => group.result !== undefined && instances.has(instanceOf(group)) && !replays.includes(group.id),
  )
  return { replays, compared: compared.map(({ id }) => id) }
}

function instanceOf(group: StoredGroup | undefined): string {
  return JSON.stringify([group?.task, group?.instance])
}

/** Draws groups among those that taught something. */
async function replayedGroups(
  { episodes }: Played,
  earlier: readonly StoredGroup[],
  step: number,
  rules: BatchRules,
): Promise<readonly GroupId[]> {
  const { learning, rollout, seed } = rules
  if (learning.replay.share === 0) return []
  const taught: GroupId[] = []
  for (const { id, task, result } of earlier)
    if (result !== undefined && (await isLesson(episodes, { task, ...result }, rules))) taught.push(id)
  const bound = { groupsPerUpdate: rollout.groupsPerUpdate, share: learning.replay.share }
  return drawnReplays(taught, bound, uniforms(seedOf(seed, step, 'replay')))
}

/** Whether a group taught something; one whose trajectories are deleted is known by its rewards alone. */
async function isLesson(
  episodes: Pick<Episodes, 'trajectory'>,
  group: Parameters<typeof turnsTeach>[1],
  rules: BatchRules,
): Promise<boolean> {
  if (teaches(group.rewards, rules.learning, rewardRules(rules, group.task))) return true
  try {
    return await turnsTeach(episodes, group, rules)
  } catch (error) {
    if (!(error instanceof StorageFault && error.kind === 'missing')) throw error
    return false
  }
}
