/**
 * A check of `doctor`: one thing that was looked at, what it is like, and what to do.
 *
 * Invariants
 * - A check that fails says what to do; a repair says what was done.
 */

/** Result of one check. */
export interface Check {
  readonly name: string
  /** `wrong`: something that keeps Perdure from working, or has lost data; `warning`: merely missing or left over. */
  readonly state: 'ok' | 'warning' | 'wrong' | 'repaired'
  readonly detail: string
  /** Absent when all is well; else the next step. */
  readonly advice?: string
}

/** Makes checks, by their state; without advice the detail says what to do. */
export const check = {
  fine: (name: string, detail: string): Check => ({ name, state: 'ok', detail }),
  warning: (name: string, detail: string, advice: string): Check => ({
    name,
    state: 'warning',
    detail,
    advice,
  }),
  wrong: (name: string, detail: string, advice?: string): Check => ({
    ...{ name, state: 'wrong', detail },
    ...(advice !== undefined && { advice }),
  }),
  repaired: (name: string, detail: string): Check => ({ name, state: 'repaired', detail }),
}

const marks: Record<Check['state'], string> = { ok: '✓', warning: '!', wrong: '✗', repaired: '+' }

/** The results as people read them. */
export function checkLines(checks: readonly Check[]): readonly string[] {
  const width = Math.max(...checks.map(({ name }) => name.length))
  return checks.flatMap(({ name, state, detail, advice }) => [
    `${marks[state]} ${name.padEnd(width)}  ${detail}`,
    ...(advice === undefined ? [] : [`  ${' '.repeat(width)}  → ${advice}`]),
  ])
}

/** How a home is looked at. */
export interface Examination {
  readonly repair: boolean
  /** Whether living processes use the home: then nothing is moved or deleted under them. */
  readonly inUse: boolean
}

/**
 * The check to report where nothing is repaired.
 * @param found the problem; its advice says what `--repair` will do
 */
export function unrepaired(found: Check, { repair, inUse }: Examination): Check {
  if (!repair)
    return {
      ...found,
      advice: `${found.advice ?? ''} \`perdure doctor --repair\` tries to repair it.`.trim(),
    }
  if (!inUse) return found
  return { ...found, advice: 'Processes use this home: end them, then `perdure doctor --repair` again.' }
}

/** True where a home may be changed. */
export function mayRepair({ repair, inUse }: Examination): boolean {
  return repair && !inUse
}

/** @example plural(2, 'file') // '2 files' */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
