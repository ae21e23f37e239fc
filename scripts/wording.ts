/**
 * The wording of code, messages and documents: `node scripts/wording.ts` reports words for which there is a plainer one.
 *
 * Invariants
 * - [WORDING-1] The words in `avoided` are used nowhere.
 * - [WORDING-2] A sentence names its subject and uses plain verbs. `wording-allowed.json` counts the places in each room
 *   that do not, and these counts only fall: a larger or smaller count fails the check. `--write` lowers them.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { repositoryFiles } from './rooms.ts'

interface Pattern {
  readonly pattern: RegExp
  readonly instead: string
}

/** A place whose wording is reported. */
export interface WordingFault {
  readonly room: string
  readonly line: string
}

const avoided: readonly Pattern[] = [
  { pattern: /\b(?:un)?mend(?:s|ed|ing|able)?\b/gi, instead: 'repair, fix' },
  { pattern: /\bwhom?ever\b/gi, instead: 'the caller, the process that, any' },
  { pattern: /\bnobody\b/gi, instead: 'no one, unused, without' },
  { pattern: /\bsomebody\b/gi, instead: 'a person, another process' },
  { pattern: /\bin vain\b/gi, instead: 'without effect' },
  { pattern: /\bbears? out\b/gi, instead: 'support' },
  { pattern: /\bbur(?:y|ies|ied)\b/gi, instead: 'mark, end' },
  { pattern: /\bbehind the back\b/gi, instead: 'without the knowledge' },
  { pattern: /\bin hand\b/gi, instead: 'in progress' },
  { pattern: /\btold apart\b/gi, instead: 'distinguished' },
  { pattern: /\b(?:is|are) told of\b/gi, instead: 'is reported, reads about' },
]

/** The beginning of a comment, a sentence in one, a text in quotes or on the page, a list item or a cell of a table. */
const start = String.raw`(?:^[\s/*#>-]*|["'\x60>|([]\s?|[.!?] )(?:\[[A-Z][A-Z-]*-\d+\] |@\w+ (?:\w+ )?)?`
/** White space inside of a phrase, which may go on in the next line of a comment. */
const space = String.raw`\s+(?:[/*#]+\s+)?`

const unclear: readonly Pattern[] = [
  // A question may begin with "What" or "Of".
  {
    pattern: new RegExp(
      `${start}(?:What|Of|One${space}that|Those${space}that)\\b(?!(?:[^.:;\\n]|\\.(?=\\S))*\\?)`,
      'gm',
    ),
    instead: 'a subject that is named',
  },
  { pattern: /\btold\b/gi, instead: 'receives, reads, is reported, is distinguished' },
  { pattern: /\banew\b/gi, instead: 'again' },
  { pattern: new RegExp(`\\bbut${space}for\\b`, 'gi'), instead: 'except, apart from' },
  { pattern: new RegExp(`\\bof${space}one['’]s${space}own\\b`, 'gi'), instead: 'custom, your own' },
  { pattern: /\bstands\b/gi, instead: 'is, remains, means' },
]

/** Recorded histories hold what a release wrote. */
const excluded = [
  /^test\/histories\//,
  /^package-lock\.json$/,
  /^scripts\/wording(?:\.test)?\.ts$/,
  /\.(?:png|svg|gz|zip|safetensors)$/,
]

/**
 * Lines in which a word is a name or cannot change: the Linux user `nobody`, the predicate `stands` of the household's
 * game, and texts that an agent reads, on which the bytes of a run depend.
 */
const quoted =
  /-u nobody\b|There is nobody to ask\.|\bstands ?\(|\(stands |description: `Of the files|get_neighbors: 'What|intersection: 'What|keywords: 'What to|The tool call stands/

/** The places of each file in which the wording is avoided or unclear. */
export function wordingFaults(file: string, text: string): Record<'avoided' | 'unclear', WordingFault[]> {
  return { avoided: find(avoided), unclear: find(unclear) }

  function find(patterns: readonly Pattern[]): WordingFault[] {
    const lines = text.split('\n')
    return patterns.flatMap(({ pattern, instead }) =>
      [...text.matchAll(pattern)].flatMap((match) => {
        const before = match.index + match[0].length - match[0].trimStart().length
        const number = text.slice(0, before).split('\n').length
        const line = (lines[number - 1] ?? '').trim()
        if (quoted.test(line)) return []
        const room = file.includes('/') ? file.slice(0, file.indexOf('/')) : '.'
        return [{ room, line: `${file}:${number}: ${line} (say: ${instead})` }]
      }),
    )
  }
}

/** Counts by room. */
export function countByRoom(faults: readonly WordingFault[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { room } of faults) counts[room] = (counts[room] ?? 0) + 1
  return Object.fromEntries(Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** A line for each room whose count is not the allowed one. */
export function compareCounts(
  counts: Readonly<Record<string, number>>,
  allowed: Readonly<Record<string, number>>,
): string[] {
  return [...new Set([...Object.keys(counts), ...Object.keys(allowed)])].flatMap((room) => {
    const [found, limit] = [counts[room] ?? 0, allowed[room] ?? 0]
    if (found > limit)
      return [
        `${room}: ${found} unclear sentences, ${limit} allowed; list them: node scripts/wording.ts ${room}`,
      ]
    if (found < limit)
      return [
        `${room}: ${found} unclear sentences, fewer than the ${limit} allowed; run: node scripts/wording.ts --write`,
      ]
    return []
  })
}

/** The allowed counts, each lowered to the present one. */
export function lowerCounts(
  counts: Readonly<Record<string, number>>,
  allowed: Readonly<Record<string, number>>,
): Record<string, number> {
  return Object.fromEntries(
    Object.entries(allowed)
      .map(([room, limit]) => [room, Math.min(limit, counts[room] ?? 0)] as const)
      .filter(([, limit]) => limit > 0),
  )
}

function check(argument: string | undefined): boolean {
  const root = resolve(import.meta.dirname, '..')
  const allowedFile = join(import.meta.dirname, 'wording-allowed.json')
  const allowed = JSON.parse(readFileSync(allowedFile, 'utf8')) as Record<string, number>
  const found = repositoryFiles(root)
    .filter((file) => !excluded.some((pattern) => pattern.test(file)))
    .map((file) => wordingFaults(file, readFileSync(join(root, file), 'utf8')))
  const unclearFaults = found.flatMap(({ unclear }) => unclear)
  const counts = countByRoom(unclearFaults)
  if (argument === '--write') {
    writeFileSync(allowedFile, `${JSON.stringify(lowerCounts(counts, allowed), null, 2)}\n`)
    return true
  }
  const lines =
    argument === undefined
      ? [
          ...found.flatMap(({ avoided }) => avoided.map(({ line }) => line)),
          ...compareCounts(counts, allowed),
        ]
      : unclearFaults.filter(({ room }) => room === argument).map(({ line }) => line)
  for (const line of lines) console.error(line)
  return lines.length === 0
}

if (import.meta.main) process.exitCode = check(process.argv[2]) ? 0 : 1
