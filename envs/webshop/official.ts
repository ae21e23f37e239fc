/**
 * The published shop as a task needs it: `synthetic/<n>` and `human/<n>`.
 *
 * Invariants
 * - A goal has one id, whichever split names it.
 * - The original's partition of its goals is kept: the first 500 are for tests, the next 1,000 for validation,
 *   the rest for training.
 */
import { EnvironmentFault, type Split } from '../contract/environment.ts'
import { openDataset } from './data/dataset.ts'
import type { GoalList } from './data/goals.ts'
import type { GoalLibrary } from './shop-session.ts'

const testGoals = 500
const validationGoals = 1000

interface OfficialSplit extends Split {
  readonly list: GoalList
  readonly kind: 'synthetic' | 'human'
  /** Index of its first goal in the list. */
  readonly start: number
}

/** The goals of a folder, with its warnings. */
export async function openOfficialShop(dir: string, productLimit: number | undefined): Promise<GoalLibrary> {
  const { catalogue, synthetic, human, nouns, warnings, close } = await openDataset(dir, productLimit)
  const splits = splitsOf(synthetic, human)
  const names = splits.map(({ name }) => name).join(', ')
  return {
    shop: catalogue,
    nouns,
    warnings,
    splits: splits.map(({ name, size }) => ({ name, size })),
    instanceAt(split, index) {
      const found = splits.find(({ name }) => name === split)
      if (found === undefined)
        throw new EnvironmentFault('unknown_split', `webshop data has no split "${split}": use ${names}`)
      const { list, kind, start, size } = found
      return `${kind}/${list.numberAt(start + (((index % size) + size) % size))}`
    },
    open(instance) {
      const [, name = '', digits = ''] = /^([a-z]+)\/(0|[1-9]\d{0,8})$/.exec(instance) ?? []
      const list = name === 'synthetic' ? synthetic : name === 'human' ? human : undefined
      const partition = splits.find((split) => split.name === name)
      // With a split named beside it, a number is one within the split.
      const goal =
        digits === ''
          ? undefined
          : list !== undefined
            ? list.goal(Number(digits))
            : partition !== undefined && Number(digits) < partition.size
              ? partition.list.goal(partition.list.numberAt(partition.start + Number(digits)))
              : undefined
      if (goal !== undefined) return goal
      throw new EnvironmentFault(
        'unknown_instance',
        `webshop data has no goal "${instance.slice(0, 80)}" whose product is in the shop: use synthetic/N with N below ${synthetic.size}, or one of the ${human.size} human/N`,
      )
    },
    close,
  }
}

/** Goals of both kinds, and the partition of the kind that the shop is full of. */
function splitsOf(synthetic: GoalList, human: GoalList): OfficialSplit[] {
  const all = [
    { name: 'synthetic', list: synthetic, kind: 'synthetic', start: 0, size: synthetic.size },
    { name: 'human', list: human, kind: 'human', start: 0, size: human.size },
  ] as const
  const held = testGoals + validationGoals
  const parted = human.size > held ? all[1] : all[0]
  const parts =
    parted.size <= held
      ? []
      : [
          { ...parted, name: 'train', start: held, size: parted.size - held },
          { ...parted, name: 'validation', start: testGoals, size: validationGoals },
          { ...parted, name: 'test', start: 0, size: testGoals },
        ]
  return [...all, ...parts].filter(({ size }) => size > 0)
}
