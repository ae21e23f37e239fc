/** TextArena's GuessTheNumber-v0, as game.py plays it. */
import { foreignEnvironment } from 'perdure'

export const guessTheNumber = foreignEnvironment({
  name: 'textarena-guess',
  summary: "TextArena's GuessTheNumber-v0.",
  source: 'TextArena',
  licence: 'MIT',
  reward: 'that of TextArena: 1 for the number, less for a near one',
  replayable: true,
  replayableBecause: 'the number follows from the name of the instance',
  turnLimit: 12,
  command: process.env.TEXTARENA_PYTHON ?? 'python3',
  args: ['game.py'],
  cwd: import.meta.dirname,
})
