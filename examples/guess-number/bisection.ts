/** Bisection as a beginner plays it: finds any number from 1 to 20, but says many guesses twice. */
import type { Calls, InstanceRandom, z } from 'perdure'

type Guess = Calls<{ guess: z.ZodObject<{ number: z.ZodInt }> }>

/** Share of the guesses that are said twice. */
const hesitation = 0.6

export function* bisection(random: InstanceRandom): Generator<Guess, void, string> {
  let low = 1
  let high = 20
  while (low <= high) {
    const number = Math.floor((low + high) / 2)
    const isSaidTwice = random.uniform() < hesitation
    let answer = yield { guess: { number } }
    if (isSaidTwice && answer !== 'right') answer = yield { guess: { number } }
    if (answer === 'higher') low = number + 1
    else high = number - 1
  }
}
