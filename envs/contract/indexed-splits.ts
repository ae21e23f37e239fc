/**
 * Splits whose instances are named `SPLIT/INDEX`.
 *
 * Invariants
 * - A split or an instance that is not there is a fault that names what is.
 */
import { EnvironmentFault, type InstanceId, type Split } from './environment.ts'

/** A place in a split. */
export interface Place {
  readonly split: string
  readonly index: number
}

/** The index-th instance, modulo the size. @param owner the task's name @throws EnvironmentFault `unknown_split` */
export function instanceIn(
  owner: string,
  splits: readonly Split[],
  split: string,
  index: number,
): InstanceId {
  const known = splits.find(({ name }) => name === split)
  if (known === undefined)
    throw new EnvironmentFault(
      'unknown_split',
      `${owner} has no split "${split.slice(0, 80)}": use ${splits.map(({ name }) => name).join(', ')}`,
    )
  return `${split}/${Number.isFinite(known.size) ? index % known.size : index}`
}

/** @throws EnvironmentFault `unknown_instance` */
export function placeOf(splits: readonly Split[], instance: InstanceId): Place {
  const slash = instance.lastIndexOf('/')
  const split = splits.find(({ name }) => name === instance.slice(0, slash))
  const digits = instance.slice(slash + 1)
  const index = /^(0|[1-9]\d{0,14})$/.test(digits) ? Number(digits) : Number.NaN
  if (slash >= 1 && split !== undefined && index < split.size) return { split: split.name, index }
  const shown = instance.length > 80 ? `${instance.slice(0, 80)}…` : instance
  const ranges = splits.map(({ name, size }) =>
    Number.isFinite(size) ? `${name}/0 to ${name}/${size - 1}` : `${name}/0, ${name}/1, …`,
  )
  throw new EnvironmentFault('unknown_instance', `there is no instance "${shown}": use ${ranges.join('; ')}`)
}
