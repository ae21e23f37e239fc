/**
 * Outcomes: the result of every evaluated version of an experiment's runs on each instance, as a written report keeps it.
 *
 * Invariants
 * - [OUTCOMES-1] Reading gives what was written: the same shares of the same instances, in their order, by which a bootstrap draws.
 * - A word means an instance: the mean of the measure over its samples, or `-` where it was not played.
 */
import { z } from 'zod'
import type { Shares } from '../../learning/statistics/paired-difference.ts'
import type { MeasuredRun } from './measured-runs.ts'

const word = /^(?:-|-?\d+(?:\.\d+)?(?:e-?\d+)?)$/
const notPlayed = '-'

export const outcomesSchema = z.array(
  z.object({
    suite: z.string(),
    /** In the order of the words. */
    instances: z.array(z.string()),
    /** Kinds of those, empty where one has none; absent where no one knows them. */
    kinds: z.array(z.string()).optional(),
    versions: z.array(
      z.object({
        run: z.string(),
        version: z.number().int().min(0),
        /** By instance, blanks between them. */
        shares: z.string().refine((text) => text.split(' ').every((each) => word.test(each))),
      }),
    ),
  }),
)

/** By suite. */
export type Outcomes = z.infer<typeof outcomesSchema>

/** Reads what every instance came to. */
export async function outcomesOf(suites: readonly string[], runs: readonly MeasuredRun[]): Promise<Outcomes> {
  const found: Outcomes = []
  for (const suite of suites) {
    const figures = runs.flatMap(({ run, figures: own }) =>
      own.filter((each) => each.suite === suite).map(({ version, shares }) => ({ run, version, shares })),
    )
    const read: { readonly run: string; readonly version: number; readonly shares: Shares }[] = []
    for (const { shares, ...which } of figures) read.push({ ...which, shares: await shares() })
    const instances = [...new Set(read.flatMap(({ shares }) => [...shares.keys()]))]
    const versions = read.map(({ shares, ...which }) => ({
      ...which,
      shares: instances.map((instance) => shares.get(instance) ?? notPlayed).join(' '),
    }))
    const [some] = runs.flatMap(({ figures: own }) => own.filter((each) => each.suite === suite))
    const known = await some?.kinds?.()
    const kinds =
      known === undefined || known.size === 0 ? {} : { kinds: instances.map((each) => known.get(each) ?? '') }
    found.push({ suite, instances, ...kinds, versions })
  }
  return found
}

/** The shares that a version's words say. */
export function sharesIn(instances: readonly string[], words: string): Shares {
  const all = words.split(' ')
  return new Map(
    instances.flatMap((instance, at) => {
      const share = all[at] ?? notPlayed
      return share === notPlayed ? [] : [[instance, Number(share)] as const]
    }),
  )
}
