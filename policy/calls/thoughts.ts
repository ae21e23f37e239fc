/**
 * Thoughts: the marks between which a model thinks before it acts.
 *
 * Invariants
 * - The marks of the field's families count in every format; a model's template adds its own.
 */

/** A pair of marks. */
export interface ThoughtMarks {
  readonly opening: string
  readonly closing: string
}

/** How thoughts are read in an action. */
export interface ThoughtReading {
  readonly marks: readonly ThoughtMarks[]
  /** The thought in which an action begins, where the prompt for it opened one. */
  readonly open?: ThoughtMarks | undefined
}

function tags(name: string): ThoughtMarks {
  return { opening: `<${name}>`, closing: `</${name}>` }
}

const knownMarks: readonly ThoughtMarks[] = [
  ...['think', 'thinking', 'thought', 'reasoning', 'scratchpad', 'scratch_pad', 'seed:think'].map(tags),
  { opening: '[THINK]', closing: '[/THINK]' },
  { opening: '<|begin_of_thought|>', closing: '<|end_of_thought|>' },
  { opening: '<|START_THINKING|>', closing: '<|END_THINKING|>' },
  { opening: '<|inner_prefix|>', closing: '<|inner_suffix|>' },
  { opening: '◁think▷', closing: '◁/think▷' },
]

/** How thoughts are read where a template says nothing else of them. */
export const ordinaryThoughts: ThoughtReading = { marks: knownMarks }

/** The marks of the field's families, and those that a template has beside them. */
export function marksWith(own: readonly ThoughtMarks[]): readonly ThoughtMarks[] {
  const isKnown = ({ opening }: ThoughtMarks) => knownMarks.some((known) => known.opening === opening)
  return [...knownMarks, ...own.filter((marks) => !isKnown(marks))]
}

/** The thought that a text leaves open at its end. */
export function openThought(text: string, marks: readonly ThoughtMarks[]): ThoughtMarks | undefined {
  return marks
    .map((pair) => ({ pair, at: text.lastIndexOf(pair.opening) }))
    .filter(({ pair, at }) => at !== -1 && !text.includes(pair.closing, at))
    .sort((one, other) => other.at - one.at)[0]?.pair
}
