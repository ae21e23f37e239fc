/**
 * Tickets: an assignment that the agent finds on the machine. The agent learns the assignment by reading the queue and then the ticket,
 * so no script that was written beforehand does it.
 *
 * Invariants
 * - A ticket changes only how its problem is given: its files lie in a folder that no problem watches.
 * - The queue has other tickets too; their names and files differ.
 */
import type { Draw } from '../../generated/draw.ts'
import { nouns } from '../../generated/words.ts'
import type { Problem } from './problem.ts'

const queueFolder = '/var/tickets'
const queue = `${queueFolder}/queue`

/** The problem as a ticket of a queue. */
export function ticketOf(problem: Problem, draw: Draw): Problem {
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
