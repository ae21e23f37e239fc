/**
 * The instances of a generator: `train` without an end, `validation` and `test`, each named `<split>/<index>`.
 *
 * Invariants
 * - An id that a split gives can be opened; any other is an unknown instance.
 */
import { EnvironmentFault, type InstanceId } from './environment.ts'
import type { Library } from './library.ts'

/** Splits of generated instances; `train` has no end that a run could reach. */
export const generatedSplits = ['train', 'validation', 'test'] as const
export type GeneratedSplit = (typeof generatedSplits)[number]

/** Instances of a split at most, unless a task says otherwise: with three splits every seed fits into 32 bits. */
export const largestSplit = 2 ** 30
const heldOut = 2000

/**
 * @param what the task's word for an instance, such as `game`
 * @param make what an instance is, the same each time
 */
export function generatedLibrary<Content>(
  task: string,
  what: string,
  make: (split: GeneratedSplit, index: number, instance: InstanceId) => Content,
  largest = largestSplit,
): Library<Content> {
  const sizes = { train: largest, validation: heldOut, test: heldOut }
  return {
    splits: generatedSplits.map((name) => ({
      name,
      size: name === 'train' ? Number.POSITIVE_INFINITY : heldOut,
    })),
    warnings: [],
    instanceAt(split, index) {
      if (!isSplit(split))
        throw new EnvironmentFault(
          'unknown_split',
          `${task} has no split "${split.slice(0, 80)}": use ${generatedSplits.join(', ')}`,
        )
      return `${split}/${((index % sizes[split]) + sizes[split]) % sizes[split]}`
    },
    open(instance) {
      const [, split = '', digits = ''] = /^([a-z]+)\/(0|[1-9]\d{0,12})$/.exec(instance) ?? []
      const index = Number(digits)
      if (isSplit(split) && digits !== '' && index < sizes[split]) return make(split, index, instance)
      throw new EnvironmentFault(
        'unknown_instance',
        `${task} has no ${what} "${instance.slice(0, 80)}": use train/N, or validation/N or test/N with N below ${heldOut}`,
      )
    },
  }
}

function isSplit(name: string): name is GeneratedSplit {
  return (generatedSplits as readonly string[]).includes(name)
}
