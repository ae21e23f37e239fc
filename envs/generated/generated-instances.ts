/**
 * The instances of a generator: `train` without an end, `validation` and `test`, and what else a task has, each named
 * `<split>/<index>`.
 *
 * Invariants
 * - An id that a split gives can be opened; any other is an unknown instance.
 */
import { EnvironmentFault, type InstanceId } from '../contract/environment.ts'
import type { Library } from '../contract/library.ts'

/** Splits of generated instances; `train` has no end that a run could reach. */
export const generatedSplits = ['train', 'validation', 'test'] as const
export type GeneratedSplit = (typeof generatedSplits)[number]

/** Instances of a split at most, unless a task says otherwise: with three splits every seed fits into 32 bits. */
export const largestSplit = 2 ** 30
/** Instances of every split but `train`. */
export const heldOut = 2000

/**
 * @param what the task's word for an instance, such as `game`
 * @param make what an instance is, the same each time
 * @param others splits of this task beside those of every task
 */
export function generatedLibrary<Content, Other extends string = never>(
  task: string,
  what: string,
  make: (split: GeneratedSplit | Other, index: number, instance: InstanceId) => Content,
  {
    largest = largestSplit,
    others = [],
  }: { readonly largest?: number; readonly others?: readonly Other[] } = {},
): Library<Content> {
  const names: readonly (GeneratedSplit | Other)[] = [...generatedSplits, ...others]
  const sizeOf = (name: GeneratedSplit | Other) => (name === 'train' ? largest : heldOut)
  const bounded = names.flatMap((name) => (name === 'train' ? [] : [`${name}/N`]))
  const splitOf = (name: string) => names.find((known) => known === name)
  return {
    splits: names.map((name) => ({
      name,
      size: name === 'train' ? Number.POSITIVE_INFINITY : heldOut,
    })),
    warnings: [],
    instanceAt(name, index) {
      const split = splitOf(name)
      if (split === undefined)
        throw new EnvironmentFault(
          'unknown_split',
          `${task} has no split "${name.slice(0, 80)}": use ${names.join(', ')}`,
        )
      const size = sizeOf(split)
      return `${split}/${((index % size) + size) % size}`
    },
    open(instance) {
      const [, name = '', digits = ''] = /^([a-z]+)\/(0|[1-9]\d{0,12})$/.exec(instance) ?? []
      const split = splitOf(name)
      const index = Number(digits)
      if (split !== undefined && digits !== '' && index < sizeOf(split)) return make(split, index, instance)
      throw new EnvironmentFault(
        'unknown_instance',
        `${task} has no ${what} "${instance.slice(0, 80)}": use train/N, or ${bounded.join(' or ')} with N below ${heldOut}`,
      )
    },
  }
}
