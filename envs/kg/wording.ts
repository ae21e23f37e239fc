/**
 * How tools answer: in AgentBench's words, or briefly.
 *
 * Invariants
 * - Answers have AgentBench's exact words where its data or a user's is played; the built-in
 *   questions have short answers, because every token of an observation is read again in each later turn.
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
