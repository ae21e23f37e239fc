/**
 * How tools answer: in AgentBench's words, or briefly.
 *
 * Invariants
 * - Answers have AgentBench's exact words where its data or a user's is played; the built-in
 *   questions have short answers, because every token of an observation is read again in each later turn.
 * - The texts of a version never change: a policy that was trained on one is evaluated on the same.
 */

/** The words of one way to answer. */
export interface Wording {
  /** The names that a tool lists. */
  list(names: readonly string[]): string
  /** A new set. */
  variable(index: number, type: string | undefined): string
  /** A new number. */
  number(index: number): string
  /** Why a call could not be carried out. */
  problem(reason: string): string
}

export const officialWording: Wording = {
  list: (names) => `Observation: [${names.join(', ')}]`,
  variable: (index, type) =>
    `Observation: variable #${index}${type === undefined ? '' : `, which are instances of ${type}`}`,
  number: (index) => `Observation: variable #${index}, which is a number`,
  problem: (reason) => `Error processing tool call: ${reason}`,
}

export const shortWording: Wording = {
  list: (names) => (names.length === 0 ? 'none' : names.join(', ')),
  variable: (index, type) => `#${index}: ${type ?? 'set'}`,
  number: (index) => `#${index}: number`,
  problem: (reason) => reason,
}

/** The question as the agent reads it, in AgentBench's form. */
export function questionText(question: string, entities: readonly string[]): string {
  return `${question}\nEntities: [${entities.join(', ')}]`
}

const short =
  'Answer the question from the graph. Each set you find is a variable #0, #1, …. End with "Final Answer: #k".'

const full = `You answer a question from a knowledge graph, which you query with tools.
A variable is a set of entities that a tool found: the first is #0, the next #1, and so on. Wherever a tool takes a variable, get_relations and get_neighbors also take an entity by its name.
First ask get_relations what leads on from an entity of the question or from a variable, then follow one of those relations with get_neighbors, which makes a new variable. Combine variables of the same type with intersection. For the greatest or least, ask get_attributes, then use argmax or argmin. For "how many" use count.
Call one tool in a turn, with names exactly as you have read them. You have 15 turns.
When a variable holds the answer, write "Final Answer: #k", k being its number, and call no tool in that message. The whole set is your answer: it must have all members that the question asks for, and no others.`

/** The system message. */
export function systemPrompt(form: 'short' | 'full'): string {
  return form === 'short' ? short : full
}

/** The descriptions of the tools. */
export const descriptions = {
  get_relations: 'Lists the relations of an entity or variable.',
  get_neighbors: 'What a relation leads to, as a new variable.',
  intersection: 'What is in both variables, as a new variable.',
  get_attributes: 'Lists the numbers and dates that a variable has.',
  argmax: 'Those with the greatest attribute, as a new variable.',
  argmin: 'Those with the least attribute, as a new variable.',
  count: 'The size of a variable, as a new variable.',
} as const
