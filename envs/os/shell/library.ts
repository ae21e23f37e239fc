/**
 * The generated problems as a library: splits, ids, problems.
 *
 * Invariants
 * - A problem is a function of its id and the settings.
 * - Splits are disjoint: two ids never share a seed.
 * - An assignment that one script could do without a look at the machine is given by a ticket.
 * - An id that a split gives can be opened; any other is an unknown instance.
 */

import { EnvironmentFault } from '../../contract/environment.ts'
import type { Library } from '../../contract/library.ts'
import { Draw, instanceSeed } from '../../generated/draw.ts'
import { generatedLibrary, generatedSplits } from '../../generated/generated-instances.ts'
import type { OsSettings } from '../settings.ts'
import type { Problem, ProblemKind } from './problem.ts'
import { fileProblems } from './problems/files.ts'
import { permissionProblems } from './problems/permissions.ts'
import { processProblems } from './problems/processes.ts'
import { textProblems } from './problems/text.ts'
import { ticketOf } from './ticket.ts'

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

/** The generated problems of these settings. @throws EnvironmentFault bad_settings where none is left */
export function openLibrary(settings: Pick<OsSettings, 'levels' | 'subjects'>): Library<OpenedProblem> {
  const kinds = settings.levels.flatMap((level) =>
    problemKinds.filter((kind) => kind.level === level && settings.subjects.includes(kind.subject)),
  )
  if (kinds.length === 0)
    throw new EnvironmentFault(
      'bad_settings',
      `settings of os: there are no problems of levels ${settings.levels.join(', ')} about ${settings.subjects.join(', ')}`,
    )
  return generatedLibrary('os', 'problem', (split, index) => {
    const seed = instanceSeed(generatedSplits, split, index)
    const kind = kinds[index % kinds.length]
    if (kind === undefined) throw new RangeError('there are no kinds of problems')
    const draw = new Draw(seed)
    const problem = kind.make(draw)
    return { problem: problem.solution.length > 1 ? problem : ticketOf(problem, draw), seed }
  })
}
