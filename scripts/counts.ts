/**
 * The size of the house: lines and files outside tests, lines of tests, settings. `npm test` prints it, with the limits.
 *
 * Invariants
 * - [COUNTS-1] Every line of code counts once, comments and empty lines too: as product, or as test. Style sheets do not count.
 */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { configFields } from '../config/schema/fields.ts'
import { repositoryFiles } from './rooms.ts'

/** The counts in words, each with its aim. */
const limits = {
  'lines outside tests': 97_000,
  'lines outside tests and worlds/': 88_000,
  'files outside tests': 800,
  'lines of tests': 44_000,
} as const

export type Counts = Readonly<Record<keyof typeof limits | 'settings', number>>

function isTest(file: string): boolean {
  return file.startsWith('test/') || /\.(test|testing)\.ts$/.test(file)
}

/** @param code path and text of each file of code */
export function countsOf(code: ReadonlyMap<string, string>, settings: number): Counts {
  const files = [...code].map(([file, text]) => ({ file, lines: text.split('\n').length - 1 }))
  const product = files.filter(({ file }) => !isTest(file))
  const linesOf = (of: typeof files) => of.reduce((sum, { lines }) => sum + lines, 0)
  return {
    'lines outside tests': linesOf(product),
    'lines outside tests and worlds/': linesOf(product.filter(({ file }) => !file.startsWith('worlds/'))),
    'files outside tests': product.length,
    'lines of tests': linesOf(files.filter(({ file }) => isTest(file))),
    settings,
  }
}

/** One line for each count. */
export function countLines(counts: Counts): readonly string[] {
  const limitOf = (name: string) => (limits as Readonly<Record<string, number>>)[name]
  return Object.entries(counts).map(([name, count]) => {
    const limit = limitOf(name)
    return `${String(count).padStart(7)} ${name}${limit === undefined ? '' : ` (aim: at most ${limit})`}`
  })
}

function countHere(): Counts {
  const root = dirname(import.meta.dirname)
  const files = repositoryFiles(root, '*.ts', '*.tsx', '*.mjs', '*.py')
  const code = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]))
  return countsOf(code, configFields().filter(({ section }) => !section).length)
}

if (import.meta.main) for (const line of countLines(countHere())) console.log(line)
