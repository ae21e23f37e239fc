/**
 * A critic without a network: V(s) is the mean return of all turns in the exact state s of one instance, in every group of the update
 * and of the last `learning.replay.maxAge` ones, and the advantages of turns are generalized advantage estimates with it:
 * δₜ = rₜ + γ·V(sₜ₊₁) − V(sₜ), Aₜ = δₜ + γλ·Aₜ₊₁, λ = 0.95. γ is `learning.stepGroups.discount`.
 * Source: arXiv 1506.02438, with a table for the value function. A state of another instance is another state, because its actions
 * may have other effects; so the table is larger than the group only where an instance is played again within these updates.
 *
 * By hand, γ = 1: a group is in a twice and is paid 1 and 1, another of the same instance is paid 0 and 0. V(a) = 1/2, so that the
 * turns of the first have 1/2 each and those of the second −1/2: among themselves each group says nothing.
 */
import type { Algorithm, ComparedGroup } from '../algorithm.ts'
import { drGrpo } from '../dr-grpo.ts'
import { estimatedAdvantages, meanReturns, traceDecay, turnAdvantages, valuedTurns } from './turn-values.ts'

export const critic: Algorithm = {
  ...drGrpo,
  name: 'critic',
  comparesTurns: true,
  readsEarlier: true,
  advantagesOf: (groups, { discount, earlier = [] }) => {
    const all = [...groups, ...earlier]
    const played = all.map(({ episodes }) => episodes.map((episode) => valuedTurns(episode, discount)))
    const instances = Map.groupBy(all.keys(), (index) => instanceOf(all[index], index))
    const values = new Map(
      [...instances].map(([instance, of]) => [
        instance,
        meanReturns(of.flatMap((index) => played[index] ?? [])),
      ]),
    )
    return groups.map((group, index) => {
      const own = values.get(instanceOf(group, index)) ?? new Map<string, number>()
      const estimated = (played[index] ?? []).map((turns) =>
        estimatedAdvantages(turns, own, { discount, decay: traceDecay }),
      )
      return turnAdvantages(group, drGrpo, (sample, turn) => estimated[sample]?.[turn] ?? 0)
    })
  },
}

/** A group whose instance is unknown is one of its own. */
function instanceOf(group: ComparedGroup | undefined, index: number): string {
  return JSON.stringify(group?.instance === undefined ? index : [group.task, group.instance])
}
