/** Small letters, paid by their share, and a guessed number: an agent's own program plays either. */
import { defineEnvironment } from 'perdure'

/** An answer is paid by the share of its characters that are small letters. */
export const letters = defineEnvironment('letters', {
  turnLimit: 1,
  start: ({ index }) => ({ prompt: `Say something in small letters, number ${index}.` }),
  answer(text) {
    const count = text.match(/[a-z]/g)?.length ?? 0
    return { reply: `${count} small letters`, reward: count / Math.max(8, [...text].length), done: true }
  },
})

/** The problems of guesser.py, which plays a game of its own and says what it has earned. */
export const guessing = defineEnvironment('guessing', {
  turnLimit: 1,
  start: () => ({ prompt: 'Guess my number from 1 to 20.' }),
  answer: () => ({ reply: 'The agent plays this game.', reward: 0, done: true }),
})
