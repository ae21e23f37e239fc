/**
 * Comparison: one synchronous run, undisturbed and several times with faults, by what each ended with.
 *
 * Invariants
 * - The run is the same each time; only the faults differ, by the seed of their plan.
 * - A run that cannot be compared (it does not continue, or has no checkpoint) is not equal.
 */
import type { Played } from './campaign.ts'
import { type FleetOptions, fleet } from './fleet.ts'
import { type Report, reportOf } from './report.ts'
import { ChaosFault } from './waiting.ts'

/** Plays them one after the other. @throws ChaosFault when the undisturbed run does not continue */
export async function comparison(given: Omit<FleetOptions, 'deployments'>, runs: number): Promise<Report> {
  const options: FleetOptions = { ...given, deployments: 1, deterministic: true, updates: given.faults }
  const { tell } = options
  tell('The run undisturbed')
  const calm = { ...options, faults: 0, folder: folderOf(options, 'undisturbed') }
  const [first] = await fleet(calm)
  const undisturbed = first?.checkpoint?.sha256 ?? null
  tell(`version ${first?.checkpoint?.version ?? 'none'}, ${undisturbed ?? 'no checkpoint'}`)
  const played = first === undefined ? [] : [first]
  const disturbed: (string | null)[] = []
  for (let number = 1; number <= runs; number++) {
    tell(`The run with faults, ${number} of ${runs}`)
    const planSeed = options.seed + number - 1
    const after = await goingOn({ ...options, planSeed, folder: folderOf(options, String(number)) })
    if (after !== undefined) played.push(after)
    const hash = after?.checkpoint?.sha256 ?? null
    disturbed.push(hash)
    const verdict = hash !== null && hash === undisturbed ? 'equal' : 'different'
    tell(`version ${after?.checkpoint?.version ?? 'none'}, ${hash ?? 'no checkpoint'}: ${verdict}`)
  }
  const equal = disturbed.filter((hash) => hash !== null && hash === undisturbed).length
  return { ...reportOf(played), checkpoints: { undisturbed, disturbed, equal } }
}

/** A campaign; undefined where the deployment did not continue, which must not cost what the others found. */
async function goingOn(options: FleetOptions): Promise<Played | undefined> {
  try {
    return (await fleet(options))[0]
  } catch (error) {
    if (!(error instanceof ChaosFault)) throw error
    options.tell(error.message)
    return undefined
  }
}

/** A folder for each run, beside one another. */
function folderOf({ folder }: FleetOptions, name: string): string | undefined {
  return folder === undefined ? undefined : `${folder}-${name}`
}
