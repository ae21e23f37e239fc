/**
 * The generated problems as a library: splits, ids, problems.
 *
 * Invariants
 * - A problem is a function of its id and the settings.
 * - Splits are disjoint: two ids never share a seed.
 * - An assignment that one script could do without a look at the machine is given by a ticket.
 * - An id that a split gives can be opened; any other is an unknown instance.
 * - A ticket changes only how its problem is given: its files lie in a folder that no problem watches.
 * - The queue has other tickets too; their names and files differ.
 * - The grader reads the file system and the processes past the shell and compares data: no script takes part.
 * - A question is not answered by finishing, nor work by answering.
 */
import { EnvironmentFault } from '../../contract/environment.ts'
import type { Library } from '../../contract/library.ts'
import { Draw, instanceSeed } from '../../generated/draw.ts'
import { generatedLibrary, generatedSplits } from '../../generated/generated-instances.ts'
import { nouns } from '../../generated/words.ts'
import type { Assignment, Machine, Submission } from '../machine.ts'
import type { OsSettings } from '../settings.ts'
import { isAnswer, isReached, type Problem, type ProblemKind } from './problem.ts'
import { fileProblems } from './problems/files.ts'
import { permissionProblems } from './problems/permissions.ts'
import { processProblems } from './problems/processes.ts'
import { textProblems } from './problems/text.ts'
import type { Shell, ShellThreads } from './threads.ts'

/** All kinds of problems. */
export const problemKinds: readonly ProblemKind[] = [
  ...fileProblems,
  ...textProblems,
  ...permissionProblems,
  ...processProblems,
]

/** A generated problem and the seed of its machine. */
interface OpenedProblem {
  readonly problem: Problem
  readonly seed: number
  /** Its name; with a ticket too. */
  readonly kind?: string
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
    return { problem: problem.solution.length > 1 ? problem : ticketOf(problem, draw), seed, kind: kind.name }
  })
}

const queueFolder = '/var/tickets'
const queue = `${queueFolder}/queue`

/** The problem as a ticket of a queue. */
function ticketOf(problem: Problem, draw: Draw): Problem {
  const { description, world, solution, goal } = problem
  const drawn = draw.some(nouns, 6)
  const names = drawn.slice(0, 3)
  const files = drawn.slice(3).map((noun) => `${queueFolder}/${noun}.txt`)
  const at = draw.below(names.length)
  const [name = '', file = ''] = [names[at], files[at]]
  const lines = names.map((each, index) => `${each} ${files[index]}\n`)
  return {
    description: `Do what ticket ${name} says. ${queue} tells its file.`,
    world: {
      ...world,
      files: [
        ...world.files,
        { path: queue, content: lines.join('') },
        ...files.map((path) => ({ path, content: path === file ? `${description}\n` : 'Done.\n' })),
      ],
    },
    solution: [`grep ${name} ${queue}`, `cat ${file}`, ...solution],
    goal,
  }
}

/** The assignment of a problem; its machines live in the threads. */
export function shellAssignment(
  { problem, seed, kind }: OpenedProblem,
  threads: () => Promise<ShellThreads>,
): Assignment {
  return {
    description: problem.description,
    kind,
    async open(): Promise<Machine> {
      const shell = await (await threads()).open(problem.world, seed)
      return {
        run: (script) => shell.run(script),
        grade: (submission) => grade(problem, shell, submission),
        close: () => shell.close(),
      }
    },
  }
}

async function grade(
  { goal }: OpenedProblem['problem'],
  shell: Shell,
  submission: Submission,
): Promise<boolean> {
  if (goal.kind === 'answer') return submission.kind === 'answer' && isAnswer(submission.answer, goal.answer)
  if (submission.kind !== 'finish') return false
  const { entries, processes } = await shell.snapshot()
  return isReached(goal, { entries: new Map(entries), processes })
}
