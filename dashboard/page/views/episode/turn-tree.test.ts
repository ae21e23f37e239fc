import { expect, it } from 'vitest'
import type { TrajectoryTurn } from '../../../contract/trajectory.ts'
import { treeLines } from './turn-tree.ts'

function turnOf(turn: number, asked?: { readonly branch: number; readonly follows: number }): TrajectoryTurn {
  const own = asked === undefined ? {} : { asked: { ...asked, form: '/v1/chat/completions' } }
  return { turn, action: own } as never
}

// [TREE-LINES-1]
it('a branch comes below the turn after which it begins, before the turns that go on', () => {
  const turns = [
    turnOf(0, { branch: 0, follows: -1 }),
    turnOf(1, { branch: 0, follows: 0 }),
    turnOf(2, { branch: 1, follows: 0 }),
    turnOf(3, { branch: 2, follows: -1 }),
    turnOf(4, { branch: 1, follows: 2 }),
    turnOf(5, { branch: 3, follows: 2 }),
    turnOf(6, { branch: 0, follows: 1 }),
  ]
  expect(treeLines(turns).map(({ turn, depth, begins }) => [turn.turn, depth, begins])).toEqual([
    [0, 0, undefined],
    [2, 1, { branch: 1, after: 0 }],
    [5, 2, { branch: 3, after: 2 }],
    [4, 1, undefined],
    [1, 0, undefined],
    [6, 0, undefined],
    [3, 1, { branch: 2, after: -1 }],
  ])
})

it('turns of an environment are in their order, without depth', () => {
  expect(treeLines([turnOf(0), turnOf(1)]).map(({ turn, depth }) => [turn.turn, depth])).toEqual([
    [0, 0],
    [1, 0],
  ])
})
