/**
 * The generated problems as a library: splits, ids, problems.
 *
 * Invariants
 * - A problem is a function of its id and the settings.
 * - Splits are disjoint: two ids never share a seed.
 * - An id that a split gives can be opened; any other is an unknown instance.
 */
import { Draw, instanceSeed } from '../../draw.ts'
import type { InstanceId, Split } from '../../environment.ts'
import { EnvironmentFault } from '../../environment.ts'
import type { OsSettings } from '../settings.ts'
import type { Problem, ProblemKind } from './problem.ts'
import { fileProblems } from './problems/files.ts'
import { permissionProblems } from './problems/permissions.ts'
import { processProblems } from './problems/processes.ts'
import { textProblems } from './problems/text.ts'

const splitNames = ['train', 'validation', 'test'] as const
type SplitName = (typeof splitNames)[number]

/** Problems of a split at most: with three splits every seed still fits into 32 bits. */
const largestSplit = 2 ** 30
const heldOut = 2_000
const sizes: Readonly<Record<SplitName, number>> = {
  train: Number.POSITIVE_INFINITY,
  validation: heldOut,
  test: heldOut,
}

/** All kinds of problems. */
export const problemKinds: readonly ProblemKind[] = [
  ...fileProblems,
  ...textProblems,
  ...permissionProblems,
  ...processProblems,
]

/** A generated problem and the seed of its machine. */
export interface OpenedProblem {
  readonly problem: Problem
  readonly seed: number
}

/** Problems by split and id. */
export interface ProblemLibrary {
  readonly splits: readonly Split[]
  /** The index-th id of a split, modulo its size. @throws EnvironmentFault unknown_split */
  instanceAt(split: string, index: number): InstanceId
  /** @throws EnvironmentFault unknown_instance */
  open(instance: InstanceId): OpenedProblem
}

/** The generated problems of these settings. @throws EnvironmentFault bad_settings where none is left */
export function openLibrary(settings: Pick<OsSettings, 'levels' | 'subjects'>): ProblemLibrary {
  const kinds = settings.levels.flatMap((level) =>
    problemKinds.filter((kind) => kind.level === level && settings.subjects.includes(kind.subject)),
  )
  if (kinds.length === 0)
    throw new EnvironmentFault(
      'bad_settings',
      `settings of os: there are no problems of levels ${settings.levels.join(', ')} about ${settings.subjects.join(', ')}`,
    )
  return {
    splits: splitNames.map((name) => ({ name, size: sizes[name] })),
    instanceAt(split, index) {
      if (!isSplit(split))
        throw new EnvironmentFault(
          'unknown_split',
          `os has no split "${split}": use ${splitNames.join(', ')}`,
        )
      const size = Math.min(sizes[split], largestSplit)
      return `${split}/${((index % size) + size) % size}`
    },
    open(instance) {
      const [, split = '', digits = ''] = /^([a-z]+)\/(0|[1-9]\d{0,9})$/.exec(instance) ?? []
      const index = Number(digits)
      if (!isSplit(split) || digits === '' || index >= Math.min(sizes[split], largestSplit))
        throw new EnvironmentFault(
          'unknown_instance',
          `os has no problem "${instance.slice(0, 80)}": use train/N, or validation/N or test/N with N below ${heldOut}`,
        )
      const seed = instanceSeed(splitNames, split, index)
      const kind = kinds[index % kinds.length]
      if (kind === undefined) throw new RangeError('there are no kinds of problems')
      return { problem: kind.make(new Draw(seed)), seed }
    },
  }
}

function isSplit(name: string): name is SplitName {
  return (splitNames as readonly string[]).includes(name)
}
