/**
 * Graph-based group policy optimization: the episodes of a group are one graph, whose nodes are exact states and whose edges are the
 * transitions that were seen. The value of a state is the mean over its transitions, V(s) = mean(r + γ·V(s')), with 0 after the end;
 * an action is worth what its edge gains, δ = r + γ·V(s') − V(s), and A = A_episode + δ / (deviation of the group's δ + 1e-6), with the
 * A of GRPO. Over the edges of a state the δ add up to 0. γ is `learning.stepGroups.discount`.
 * Sources: arXiv 2605.26684 (the graph of a group's episodes) and 2606.22995 (edges by temporal differences, standardized over the
 * graph, beside the episode's advantage). Chosen here: values are exact on the graph, where the papers have the shortest way to the
 * goal and the mean return of a state; rewards lie on edges, so that any reward and a penalty count.
 *
 * By hand, γ = 1: one episode goes a→b→a→c and is paid 1, another a→c and is paid 0. V(c) = 1/2; V(a) = (V(b) + 2·V(c))/3 and
 * V(b) = V(a), so V(a) = 1/2. All δ are 0 but those of c: 1 − 1/2 and 0 − 1/2.
 */
import type { Algorithm } from '../algorithm.ts'
import { grpo } from '../grpo.ts'
import {
  estimatedAdvantages,
  standardized,
  turnAdvantages,
  type ValuedTurn,
  valuedTurns,
} from './turn-values.ts'

export const graphGpo: Algorithm = {
  ...grpo,
  name: 'graph_gpo',
  comparesTurns: true,
  advantagesOf: (groups, { discount }) =>
    groups.map((group) => {
      const episodes = group.episodes.map((episode, sample) =>
        valuedTurns(episode, discount).map((turn, at) => ({ ...turn, state: nodeOf(turn, [sample, at]) })),
      )
      const values = graphValues(episodes, discount)
      // Without a trace, the estimate is the temporal difference of the turn's own edge.
      const gains = episodes.map((turns) => estimatedAdvantages(turns, values, { discount, decay: 0 }))
      const ofEdges = standardized(group, gains)
      return turnAdvantages(
        group,
        grpo,
        (sample, turn, ofEpisode) => ofEpisode + (ofEdges[sample]?.[turn] ?? 0),
      )
    }),
}

/** A sweep over all states that changes no value by more ends the iteration: relative to the largest value. */
const tolerance = 1e-13
/** States that lead back to themselves with nearly every action take more sweeps than this to the tolerance, and stay inexact. */
const mostSweeps = 20_000

/** Names the node of a turn: its state, or a node of its own where that is unknown. */
function nodeOf({ state }: ValuedTurn, place: readonly [sample: number, turn: number]): string {
  return JSON.stringify(state ?? place)
}

/**
 * The values of states on the graph of episodes, by Gauss-Seidel iteration from the last turns to the first. Every episode ends, so
 * that the solution is unique for any γ in [0, 1].
 * @param episodes [episodes][turns] all in known states
 */
export function graphValues(
  episodes: readonly (readonly ValuedTurn[])[],
  discount: number,
): ReadonlyMap<string, number> {
  const edges = new Map<string, { readonly reward: number; readonly next: string | undefined }[]>()
  for (const turns of episodes)
    for (const [index, { state, reward }] of [...turns.entries()].reverse()) {
      if (state === undefined) continue
      const edge = { reward, next: turns[index + 1]?.state }
      const own = edges.get(state)
      if (own === undefined) edges.set(state, [edge])
      else own.push(edge)
    }
  const values = new Map([...edges.keys()].map((state) => [state, 0]))
  const worthOf = (next: string | undefined) => (next === undefined ? 0 : (values.get(next) ?? 0))
  for (let sweep = 0, change = Number.POSITIVE_INFINITY; sweep < mostSweeps && change > tolerance; sweep++) {
    let [moved, largest] = [0, 1]
    for (const [state, own] of edges) {
      const value =
        own.reduce((sum, { reward, next }) => sum + reward + discount * worthOf(next), 0) / own.length
      moved = Math.max(moved, Math.abs(value - worthOf(state)))
      largest = Math.max(largest, Math.abs(value))
      values.set(state, value)
    }
    change = moved / largest
  }
  return values
}
