/**
 * The errors of a configuration, in words that name the key, the value and the allowed values.
 *
 * Invariants
 * - Every problem of a configuration is reported at once, each with its key.
 * - An unknown key comes with the nearest key that exists.
 */
import { Fault, type FaultOptions } from '../../faults/fault.ts'

/** One thing that is wrong. */
export interface ConfigProblem {
  /** `rollout.groupSize`; empty for the configuration as a whole. */
  readonly key: string
  /** The given value, as JSON. */
  readonly value: string | undefined
  /** The allowed values, in words. */
  readonly allowed: string
  /** `run.yaml:12`, `--set rollout.groupSize=1`, or empty. */
  readonly where: string
  /** The whole sentence. */
  readonly message: string
}

/** A configuration cannot be used; nothing was started. */
export class ConfigFault extends Fault<'unreadable_file' | 'bad_syntax' | 'bad_override' | 'bad_value'> {
  override readonly name = 'ConfigFault'
  protected static override readonly permanentKinds = 'all'
  readonly problems: readonly ConfigProblem[]

  constructor(kind: ConfigFault['kind'], problems: readonly ConfigProblem[], options?: FaultOptions) {
    super(kind, problems.map(({ message }) => message).join('\n'), options)
    this.problems = problems
  }

  /** Key of the first problem. */
  get key(): string {
    return this.problems[0]?.key ?? ''
  }
}

/** Edits (insert, delete, change, swap of neighbours) that turn one word into the other. */
export function editDistance(from: string, to: string): number {
  const rows = Array.from({ length: from.length + 1 }, (_, row) =>
    Array.from({ length: to.length + 1 }, (_, column) => (row === 0 ? column : column === 0 ? row : 0)),
  )
  const at = (row: number, column: number) => rows[row]?.[column] ?? Number.POSITIVE_INFINITY
  for (let i = 1; i <= from.length; i++) {
    for (let j = 1; j <= to.length; j++) {
      const same = from[i - 1] === to[j - 1]
      const swapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]
      const row = rows[i] as number[]
      row[j] = Math.min(
        at(i - 1, j) + 1,
        at(i, j - 1) + 1,
        at(i - 1, j - 1) + (same ? 0 : 1),
        swapped ? at(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY,
      )
    }
  }
  return at(from.length, to.length)
}

/** The candidate nearest to a word, however it is cased; undefined where there is no candidate. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const plain = (text: string) => text.toLowerCase().replaceAll(/[-_]/g, '')
  let best: { candidate: string; distance: number } | undefined
  for (const candidate of candidates) {
    const distance = editDistance(plain(word), plain(candidate))
    if (best === undefined || distance < best.distance) best = { candidate, distance }
  }
  return best?.candidate
}

/** Suggests the name that a person probably meant, as the end of a sentence; empty where none is near. */
export function meantInstead(word: string, candidates: readonly string[]): string {
  const near = nearest(word, candidates)
  const isNear = near !== undefined && editDistance(word.toLowerCase(), near.toLowerCase()) <= slipsIn(word)
  return isNear ? `; did you mean "${near}"?` : ''
}

/** Letters that a slip of the finger gets wrong. */
function slipsIn(word: string): number {
  return Math.max(1, Math.floor(word.length / 3))
}
