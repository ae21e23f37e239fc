/**
 * Two judges side by side: a rule, and the policy as it was after its warm start, which learnt to judge from demonstrations.
 *
 * Invariants
 * - The model's verdict pays; the rule's is only measured, as `right`, and compared, as `judges_agree`.
 * - A question reads the same where it is a problem and where it is asked.
 * - The last two words of each kind are no problems, so that the model has to guess what they are.
 */
import { defineEnvironment, win, z } from 'perdure'

const words = {
  animal: ['cat', 'dog', 'cow', 'horse', 'sheep', 'wolf', 'bear', 'goat'],
  fruit: ['plum', 'pear', 'fig', 'lemon', 'melon', 'grape', 'peach', 'cherry'],
  tool: ['saw', 'hammer', 'drill', 'chisel', 'pliers', 'file', 'rake', 'spade'],
} as const
type Kind = keyof typeof words
const kinds = Object.keys(words) as Kind[]
const all = Object.values(words).flat()
const taught = Object.values(words).flatMap((each) => each.slice(0, -2))

function questionOf(word: string, kind: Kind): string {
  return `${kind}: ${word}?`
}

function isOf(word: string, kind: Kind): boolean {
  return words[kind].some((each) => each === word)
}

const verdictOf = z.object({ verdict: z.enum(['yes', 'no']) })

/** The text of a call that gives a verdict. */
const verdictText = z
  .object({ arguments: verdictOf })
  .transform(({ arguments: { verdict } }) => verdict === 'yes')

/** Teaches to judge: whether a word is of a kind. */
export const judging = defineEnvironment('judging', {
  turnLimit: 1,
  start({ random }) {
    const kind = random.pick(kinds)
    // Half of the words are of the kind.
    const isTrue = random.int(0, 1) === 0
    const word = random.pick(taught.filter((each) => isOf(each, kind) === isTrue))
    return { prompt: questionOf(word, kind), isTrue }
  },
  tools: (tool) => ({
    judge: tool({
      description: 'Gives a verdict.',
      parameters: verdictOf,
      run: ({ verdict }, { isTrue }) =>
        (verdict === 'yes') === isTrue ? win('right') : { reply: 'wrong', done: true },
    }),
  }),
  expert: ({ isTrue }) => [{ judge: { verdict: isTrue ? ('yes' as const) : ('no' as const) } }].values(),
})

/** Is judged: a word of a kind is asked for. */
export const naming = defineEnvironment('naming', {
  asks: ['judge'],
  turnLimit: 1,
  metrics: { right: { better: 'higher' }, judges_agree: { better: 'higher' } },
  start({ random }) {
    const kind = random.pick(kinds)
    return { prompt: `name: ${kind}`, kind, random }
  },
  tools: (tool) => ({
    name: tool({
      description: 'Names a word of the kind.',
      parameters: z.object({ word: z.string() }),
      async run({ word }, { kind }, ask) {
        const byRule = isOf(word, kind)
        const byModel = await ask.judge({
          messages: questionOf(word, kind),
          read: verdictText,
          otherwise: byRule,
        })
        const info = { right: Number(byRule), judges_agree: Number(byRule === byModel) }
        return { reply: byModel ? 'yes' : 'no', reward: Number(byModel), done: true, info }
      },
    }),
  }),
  // It names any word, so that there is something left to learn.
  expert: ({ random }) => [{ name: { word: random.pick(all) } }].values(),
})
