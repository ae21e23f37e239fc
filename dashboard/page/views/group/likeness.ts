/**
 * Likeness: which samples did the same at a turn, and where those that won did what none of the others did.
 *
 * Invariants
 * - [LIKENESS-1] Two samples have the same number at a turn exactly if they did the same there; what most did is 0.
 * - [LIKENESS-2] Winners differ at the first turn at which nothing that a winner did was done by a loser.
 */

/** @param actions [samples][turns] @returns [turns][samples] a number of what was done; null where the sample had ended */
export function likenesses(actions: readonly (readonly string[])[]): readonly (readonly (number | null)[])[] {
  const turns = Math.max(0, ...actions.map((each) => each.length))
  return Array.from({ length: turns }, (_, turn) => {
    const done = actions.map((each) => each[turn])
    const counts = new Map<string, number>()
    for (const action of done) if (action !== undefined) counts.set(action, (counts.get(action) ?? 0) + 1)
    // Sorting keeps the order of those that are equally frequent.
    const ranked = [...counts].sort(([, a], [, b]) => b - a).map(([action]) => action)
    return done.map((action) => (action === undefined ? null : ranked.indexOf(action)))
  })
}

export interface Difference {
  readonly turn: number
  /** The actions there, each once, the most frequent first. */
  readonly winners: readonly string[]
  /** Empty: all others were over before. */
  readonly losers: readonly string[]
}

/** Null where there are no winners or no losers, or where winners never did what no loser did. */
export function firstDifference(
  samples: readonly { readonly success: boolean; readonly actions: readonly string[] }[],
): Difference | null {
  const won = samples.filter(({ success }) => success)
  const lost = samples.filter(({ success }) => !success)
  if (lost.length === 0) return null
  // A winner that is over takes no more actions to compare.
  const turns = Math.min(...won.map(({ actions }) => actions.length))
  for (let turn = 0; won.length > 0 && turn < turns; turn++) {
    const [winners, losers] = [doneAt(won, turn), doneAt(lost, turn)]
    if (!winners.some((action) => losers.includes(action))) return { turn, winners, losers }
  }
  return null
}

function doneAt(
  samples: readonly { readonly actions: readonly string[] }[],
  turn: number,
): readonly string[] {
  const counts = new Map<string, number>()
  for (const { actions } of samples) {
    const action = actions[turn]
    if (action !== undefined) counts.set(action, (counts.get(action) ?? 0) + 1)
  }
  return [...counts].sort(([, a], [, b]) => b - a).map(([action]) => action)
}
