/** The game of server.py, as beginner.py plays it: a server has no expert, and a small policy first needs play to imitate. */
import { foreignEnvironment } from 'perdure'

export const beginner = foreignEnvironment({
  name: 'beginner',
  summary: 'Guess a number from 1 to 20.',
  source: 'made here',
  licence: 'Apache-2.0',
  reward: '1 for the right number, else 0',
  replayable: true,
  replayableBecause: 'the number follows from the name of the instance',
  turnLimit: 5,
  command: 'python3',
  args: ['beginner.py'],
  cwd: import.meta.dirname,
})
