/** The branches from the turns of an episode. */
import { branchPlace } from '../../identity/identity.ts'
import type { BranchesAnswer, BranchRow } from '../contract/branch.ts'
import type { ShownHome } from '../home/shown-home.ts'
import { knownEpisode } from './trajectory.ts'

/** @param asked what was asked for from the page, and is not over @throws Refused `unknown` */
export async function branchesAnswer(
  shown: ShownHome,
  id: string,
  asked: BranchesAnswer['asked'],
): Promise<BranchesAnswer> {
  await knownEpisode(shown, id)
  await shown.index.refresh()
  const rows = shown.index.branchesOf(id)
  const branches = [...Map.groupBy(rows, ({ parent }) => parent)].flatMap(([branch, own]): BranchRow[] => {
    const place = branchPlace(branch, id)
    if (place === undefined) return []
    const samples = own
      .toSorted((a, b) => a.sample - b.sample || a.attempt - b.attempt)
      .map(({ number: _, ...row }) => ({ ...row, update: null }))
    return [{ branch, ...place, samples }]
  })
  return { branches: branches.sort((a, b) => a.turn - b.turn || a.version - b.version), asked }
}
