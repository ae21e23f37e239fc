/**
 * Numbered invariants and the tests that cite them: `node scripts/invariants.ts`.
 *
 * A header numbers one as `- [SEAL-1] …`; a test cites it by `[SEAL-1]` in its name, or in a comment above it.
 *
 * Invariants
 * - [INVARIANTS-1] Each is cited by a test, and what a test cites is an invariant.
 * - [INVARIANTS-2] A word belongs to one module, and its numbers count from 1 without a gap.
 */
import { globSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** Files by their path, with their text. */
export type Sources = ReadonlyMap<string, string>

interface Declaration {
  readonly id: string
  readonly word: string
  readonly number: number
}

const mark = /\[([A-Z][A-Z-]*)-(\d+)\]/g
const isTest = (path: string): boolean => path.endsWith('.test.ts') || path.startsWith('test/')

/** The faults, a line each; empty where every number keeps the rules. */
export function invariantFaults(sources: Sources): readonly string[] {
  const declared = new Map<string, string>()
  const cited = new Map<string, string>()
  const faults: string[] = []
  const owners = new Map<string, string>()
  for (const [path, text] of sources) {
    if (isTest(path)) {
      for (const [id] of text.matchAll(mark)) cited.set(id, path)
      continue
    }
    const counts = new Map<string, number>()
    for (const { id, word, number } of declarations(text)) {
      declared.set(id, path)
      const last = counts.get(word) ?? 0
      const owner = owners.get(word) ?? path
      owners.set(word, owner)
      if (owner !== path) faults.push(`${path}: ${word} belongs to ${owner}`)
      else if (number !== last + 1) faults.push(`${path}: ${id} follows ${last}`)
      counts.set(word, number)
    }
  }
  for (const [id, path] of declared) if (!cited.has(id)) faults.push(`${path}: no test cites ${id}`)
  for (const [id, path] of cited) if (!declared.has(id)) faults.push(`${path}: ${id} is no invariant`)
  return faults
}

/** The numbered items of a module's header. */
function declarations(text: string): readonly Declaration[] {
  const header = /^\/\*\*.*?\*\//s.exec(text)?.[0] ?? ''
  return [...header.matchAll(/^ \* - (\[([A-Z][A-Z-]*)-(\d+)\]) /gm)].map(
    ([, id = '', word = '', number]) => ({ id, word, number: Number(number) }),
  )
}

function readSources(folder: string): Sources {
  const paths = globSync('**/*.{ts,tsx}', { cwd: folder, exclude: ['node_modules', 'dist', '.perdure'] })
  return new Map(paths.sort().map((path) => [path, readFileSync(`${folder}/${path}`, 'utf8')]))
}

if (import.meta.main) {
  const faults = invariantFaults(readSources(dirname(import.meta.dirname)))
  for (const fault of faults) console.error(fault)
  process.exitCode = faults.length === 0 ? 0 : 1
}
