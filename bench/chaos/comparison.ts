/**
 * Comparison: one synchronous run, undisturbed and several times with faults, by what each ended with.
 *
 * Invariants
 * - The run is the same each time; only the faults differ, by the seed of their plan.
 * - What cannot be compared (a run without a checkpoint) is not equal.
 */
import { type CampaignOptions, campaign, type Played } from './campaign.ts'
import { type Report, reportOf } from './report.ts'

/** Plays them one after the other. @throws ChaosFault when one of the deployments does not go on */
export async function comparison(options: CampaignOptions, runs: number): Promise<Report> {
  const { tell } = options
  const hashOf = ({ checkpoint }: Played) => checkpoint?.sha256 ?? null
  tell('The run undisturbed')
  const first = await campaign({
    ...options,
    faults: 0,
    updates: options.faults,
    folder: folderOf(options, 'undisturbed'),
  })
  const undisturbed = hashOf(first)
  tell(`version ${first.checkpoint?.version ?? 'none'}, ${undisturbed ?? 'no checkpoint'}`)
  const disturbed: Played[] = []
  for (let number = 1; number <= runs; number++) {
    tell(`The run with faults, ${number} of ${runs}`)
    const played = await campaign({
      ...options,
      planSeed: options.seed + number - 1,
      folder: folderOf(options, String(number)),
    })
    disturbed.push(played)
    const hash = hashOf(played)
    const verdict = hash !== null && hash === undisturbed ? 'equal' : 'different'
    tell(`version ${played.checkpoint?.version ?? 'none'}, ${hash ?? 'no checkpoint'}: ${verdict}`)
  }
  const hashes = disturbed.map(hashOf)
  const equal = hashes.filter((hash) => hash !== null && hash === undisturbed).length
  return { ...reportOf([first, ...disturbed]), checkpoints: { undisturbed, disturbed: hashes, equal } }
}

/** A folder for each run, beside one another. */
function folderOf({ folder }: CampaignOptions, name: string): string | undefined {
  return folder === undefined ? undefined : `${folder}-${name}`
}
