/** Offers: six are shown one after another, and the agent buys one or keeps looking; a better one is worth more. */
import { defineEnvironment, type InstanceRandom, z } from 'perdure'

/** The worth of an offer by its kind; each kind comes as often as any other. */
export const worth = { poor: 1, fair: 1.5, good: 2 }
type Kind = keyof typeof worth
const kinds = ['poor', 'fair', 'good'] as const
const shown = 6

interface Offers {
  readonly offers: readonly Kind[]
  place: number
  readonly random: InstanceRandom
}

const offerIn = ({ offers, place }: Offers): Kind => offers[place] ?? 'poor'
const show = (state: Offers): string => `Offer ${state.place + 1} of ${shown} is ${offerIn(state)}.`

export const offers = defineEnvironment('offers', {
  start({ random }) {
    const offers = Array.from({ length: shown }, () => kinds[random.int(0, kinds.length - 1)] ?? 'poor')
    const state = { offers, place: 0, random }
    return { ...state, prompt: `Buy one of ${shown} offers. ${show(state)}` }
  },
  tools: (tool) => ({
    judge: tool({
      description:
        'Says what is offered, and buys it or passes it for the next. The last one is bought in any case.',
      parameters: z.object({ offer: z.enum(kinds), buy: z.boolean() }),
      run({ buy }, state) {
        if (buy || state.place === shown - 1)
          return { reply: 'bought', reward: worth[offerIn(state)], done: true }
        state.place += 1
        return show(state)
      },
    }),
  }),
  /** Flips a coin over each offer, whatever it is worth. */
  *expert(state) {
    for (;;) yield { judge: { offer: offerIn(state), buy: state.random.int(0, 1) === 1 } }
  },
  state: ({ offers, place }) => offers.slice(0, place + 1).join(' '),
  turnLimit: shown,
})
