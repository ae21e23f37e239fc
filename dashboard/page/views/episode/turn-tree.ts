/**
 * The turns of an agent's own program as a tree: its conversations, each below the turn after which it begins.
 *
 * Invariants
 * - [TREE-LINES-1] Each turn is there once, below the turn that it follows; a branch comes before the turns after it in its parent's.
 * - Where no program asked, the turns are in their order, without depth.
 */
import type { TrajectoryTurn } from '../../../contract/trajectory.ts'

/** A turn at its place in the tree. */
export interface TreeLine {
  readonly turn: TrajectoryTurn
  /** How many branches it is away from the first conversation. */
  readonly depth: number
  /** The branch that begins with it, and the turn after which that is; absent where it goes on. */
  readonly begins?: { readonly branch: number; readonly after: number }
}

export function treeLines(turns: readonly TrajectoryTurn[]): readonly TreeLine[] {
  if (turns.every(({ action }) => action?.asked === undefined))
    return turns.map((turn) => ({ turn, depth: 0 }))
  const next = Map.groupBy(turns, ({ action, turn }) => action?.asked?.follows ?? turn - 1)
  const lines: TreeLine[] = []
  const visit = (turn: TrajectoryTurn, before: TreeLine | undefined): void => {
    const branch = branchOf(turn)
    const goesOn = before === undefined ? branch === 0 : branchOf(before.turn) === branch
    const depth = (before?.depth ?? 0) + (goesOn ? 0 : 1)
    const line = { turn, depth, ...(goesOn ? {} : { begins: { branch, after: before?.turn.turn ?? -1 } }) }
    lines.push(line)
    const after = (next.get(turn.turn) ?? []).toSorted((a, b) => branchOf(b) - branchOf(a))
    for (const each of after) visit(each, line)
  }
  for (const first of next.get(-1) ?? []) visit(first, undefined)
  return lines
}

function branchOf({ action }: TrajectoryTurn): number {
  return action?.asked?.branch ?? 0
}
