/** Guess my number: every guess is answered by higher, lower or right. */
import { defineEnvironment, win, z } from 'perdure'
import { bisection } from './bisection.ts'

export const guessNumber = defineEnvironment('guess-number', {
  start: ({ random }) => ({ prompt: 'Guess my number from 1 to 20.', goal: random.int(1, 20), random }),
  tools: (tool) => ({
    guess: tool({
      description: 'Guesses a number.',
      parameters: z.object({ number: z.int() }),
      run: ({ number }, { goal }) => (number === goal ? win('right') : number < goal ? 'higher' : 'lower'),
    }),
  }),
  expert: ({ random }) => bisection(random),
})
