/** Small letters: an answer is paid by the share of its characters that are small letters. An agent's own program answers. */
import { defineEnvironment } from 'perdure'

export const letters = defineEnvironment('letters', {
  turnLimit: 1,
  start: ({ index }) => ({ prompt: `Say something in small letters, number ${index}.` }),
  answer(text) {
    const count = text.match(/[a-z]/g)?.length ?? 0
    return { reply: `${count} small letters`, reward: count / Math.max(8, [...text].length), done: true }
  },
})
