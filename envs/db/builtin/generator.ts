/**
 * Built-in problems: any number of them, each named by its split and index.
 *
 * Invariants
 * - A problem is a function of its id and the difficulty.
 * - Splits are disjoint: two ids never share a seed.
 * - Its gold statement gives its answers, and no answer depends on the order of rows.
 * - A statement that is asked for changes the state.
 */

import type { Faker } from '@faker-js/faker'
import { Draw, instanceSeed } from '../../draw.ts'
import { type GeneratedSplit, generatedSplits } from '../../generated-instances.ts'
import type { Difficulty } from '../../task-settings.ts'
import { attributes, domains, type NumberColumn } from './domain.ts'
import { type Problem, problemKinds, type Scene } from './problem.ts'

interface Size {
  readonly rows: readonly [number, number]
  readonly categories: number
  readonly numbers: number
  /** Values of a category, so that rows share some. */
  readonly values: readonly [number, number]
}

const sizes: Readonly<Record<Difficulty, Size>> = {
  easy: { rows: [3, 5], categories: 1, numbers: 1, values: [2, 2] },
  normal: { rows: [8, 14], categories: 2, numbers: 2, values: [3, 4] },
  hard: { rows: [20, 30], categories: 3, numbers: 2, values: [4, 6] },
}

/** The seed of a problem; no two problems have the same. */
export function problemSeed(split: GeneratedSplit, index: number): number {
  return instanceSeed(generatedSplits, split, index)
}

/** The problem of a split and index. @param faker is seeded anew */
export function generateProblem(
  faker: Faker,
  split: GeneratedSplit,
  index: number,
  difficulty: Difficulty,
): Problem {
  const seed = problemSeed(split, index)
  faker.seed(seed)
  const draw = new Draw(seed)
  const scene = sceneOf(faker, draw, sizes[difficulty], difficulty === 'hard')
  const kinds = problemKinds[difficulty]
  // Every kind can be asked of most tables; where one cannot, the next one is.
  for (const make of draw.shuffled(kinds)) {
    const problem = make(scene, draw)
    if (problem !== undefined) return problem
  }
  throw new RangeError(`no question fits ${split}/${index}`)
}

function sceneOf(faker: Faker, draw: Draw, size: Size, related: boolean): Scene {
  const domain = draw.one(domains)
  const categories = draw.shuffled(domain.categories).slice(0, size.categories)
  const numbers = draw.shuffled(domain.numbers).slice(0, size.numbers)
  const values = categories.map(({ make }) => unique(() => make(faker), draw.int(...size.values)))
  const keys = unique(() => domain.key.make(faker), draw.int(...size.rows) + 1)
  const rows = keys.map((key) => [
    key,
    ...values.map((choices) => draw.one(choices)),
    ...numbers.map((column) => numberText(draw, column)),
  ])
  const another = rows.pop() ?? []
  const columns = [domain.key.name, ...categories.map(({ name }) => name), ...numbers.map(({ name }) => name)]
  const main = { name: domain.table, columns, rows }
  const [first] = categories
  if (!related || first === undefined) return { domain, categories, numbers, main, another }
  const number = draw.one(attributes)
  const second = {
    name: `${first.name}_facts`,
    columns: [first.name, number.name],
    rows: (values[0] ?? []).map((value) => [value, numberText(draw, number)]),
    number,
  }
  return { domain, categories, numbers, main, second, another }
}

// Values are distinguished by letters alone: databases take no notice of case and accents.
function unique(make: () => string, count: number): string[] {
  const values = new Map<string, string>()
  for (let trial = 0; values.size < count && trial < 50 * count; trial++) {
    const value = make().normalize('NFKD').replaceAll(/\p{M}/gu, '')
    if (!/['"\\|]/.test(value)) values.set(value.toLowerCase(), value)
  }
  return [...values.values()]
}

/** A number of a column, as text. */
export function numberText(draw: Draw, { min, max, step }: NumberColumn): string {
  return String(min + step * draw.int(0, Math.floor((max - min) / step)))
}
