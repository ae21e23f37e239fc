import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  comparedGroups,
  expectNear,
  perTurn,
  plainRewards,
  plainScore,
  through,
} from '../../../test/support/compared-groups.ts'
import type { ComparedGroup } from '../algorithm.ts'
import { graphGpo, graphValues } from './graph-gpo.ts'
import { valuedTurns } from './turn-values.ts'

/** The linear system of all nodes, V − γ·P·V = r, by Gaussian elimination; an unknown state is a node of its own. */
function plain({ episodes }: ComparedGroup, discount: number): number[] {
  const edges = episodes.flatMap((episode, sample) => {
    const nodeAt = (at: number) => episode.turns[at]?.state ?? `${sample} ${at}`
    return plainRewards(episode).map((reward, at, { length }) => {
      return { sample, at, reward, from: nodeAt(at), to: at === length - 1 ? 'end' : nodeAt(at + 1) }
    })
  })
  const nodes = [...new Set(edges.map(({ from }) => from))]
  const rows = nodes.map((node) => {
    const own = edges.filter(({ from }) => from === node)
    const row = nodes.map(
      (other) =>
        (other === node ? 1 : 0) - (discount * own.filter(({ to }) => to === other).length) / own.length,
    )
    return [...row, own.reduce((sum, { reward }) => sum + reward, 0) / own.length]
  })
  const values = solved(rows)
  const worthOf = (node: string) => (node === 'end' ? 0 : (values[nodes.indexOf(node)] ?? 0))
  const gains = edges.map(({ reward, from, to }) => reward + discount * worthOf(to) - worthOf(from))
  const isKnown = ({ sample, at }: (typeof edges)[number]) => episodes[sample]?.turns[at]?.state !== undefined
  const known = gains.filter((_, index) => isKnown(edges[index] as (typeof edges)[number]))
  const rewards = episodes.map(({ reward }) => reward)
  return edges.map((edge, index) => {
    const ofEpisode = plainScore(episodes[edge.sample]?.reward ?? 0, rewards)
    return isKnown(edge) ? ofEpisode + plainScore(gains[index] ?? 0, known) : ofEpisode
  })
}

/** @param rows [n][n + 1] @returns [n] */
function solved(rows: readonly (readonly number[])[]): number[] {
  let left = rows
  for (const column of rows.keys()) {
    const at = (row: readonly number[] | undefined) => row?.[column] ?? 0
    const pivot = left
      .slice(column)
      .reduce((best, row) => (Math.abs(at(row)) > Math.abs(at(best)) ? row : best))
    const others = left.filter((row) => row !== pivot)
    const reduced = others.map((row) =>
      row.map((value, place) => value - (at(row) / at(pivot)) * (pivot[place] ?? 0)),
    )
    left = [...reduced.slice(0, column), pivot.map((value) => value / at(pivot)), ...reduced.slice(column)]
  }
  return left.map((row) => row.at(-1) ?? 0)
}

it('a state is worth what came of it in all episodes that were in it', () => {
  // As in the header: all values are 1/2, and only the last actions are better or worse than their state.
  const episodes = [through('abac', 1), through('ac', 0)]
  const values = graphValues(
    episodes.map((episode) => valuedTurns(episode, 1)),
    1,
  )
  for (const state of ['a', 'b', 'c']) expect(values.get(state)).toBeCloseTo(0.5, 12)
  const group = { task: 'db', episodes }
  const [found = []] = graphGpo.advantagesOf([group], { discount: 1 })
  // Six edges with δ = 0 four times, 1/2 and −1/2: deviation √(1/2 / 5) = 0.31623, and 1/2 / 0.31623 = 1.58113.
  for (const [sample, turns] of perTurn(group, found).entries()) {
    const sign = sample === 0 ? 1 : -1
    for (const [turn, advantage] of turns.entries())
      expect(sign * advantage).toBeCloseTo(Math.SQRT1_2 + (turn === turns.length - 1 ? 1.58113 : 0), 4)
  }
})

it('is what the linear system of the graph gives, in random groups', () => {
  fc.assert(
    fc.property(comparedGroups, fc.constantFrom(0, 0.5, 0.95, 1), (group, discount) => {
      const [found = []] = graphGpo.advantagesOf([group], { discount })
      expectNear(perTurn(group, found).flat(), plain(group, discount))
    }),
    { numRuns: 500 },
  )
})
