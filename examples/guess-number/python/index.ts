/** Guess my number, as environment.py plays it. */
import { foreignEnvironment } from 'perdure'

export const guessNumber = foreignEnvironment({
  name: 'guess-number',
  summary: 'Guess a number from 1 to 20.',
  source: 'made here',
  licence: 'Apache-2.0',
  reward: '1 for the right number, else 0',
  replayable: true,
  replayableBecause: 'the number follows from the name of the instance',
  turnLimit: 10,
  command: 'python3',
  args: ['environment.py'],
  cwd: import.meta.dirname,
})
