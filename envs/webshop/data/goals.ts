/**
 * The goals of the published shop: generated ones, and those that people wrote.
 *
 * Invariants
 * - A goal has one number, the one that the original gives it: its place after the original's shuffle.
 * - Where a file lists the goals, their places in it are their numbers.
 * - A price limit that no file gives is drawn from the product's id, and is the same in every session.
 */
import { z } from 'zod'
import { seedOf, uniforms } from '../../../identity/identity.ts'
import { EnvironmentFault } from '../../contract/environment.ts'
import { drawPriceLimit, type Goal, type GoalOption, priceLimitText } from '../shop/goal.ts'
import type { HumanInstruction, Product } from '../shop/product.ts'
import { compareText } from '../shop/python-text.ts'
import type { Catalogue } from './catalogue.ts'
import { shuffledOrder } from './mersenne-twister.ts'

/** Goals of one kind by number. */
export interface GoalList {
  /** Goals that can be played. */
  readonly size: number
  /** Number of the index-th goal. @param index from 0 up to `size` */
  numberAt(index: number): number
  /** undefined where no goal has that number, or its product is not in the shop. */
  goal(number: number): Goal | undefined
}

// The seed of the original's shuffle.
const shuffleSeed = 233

const listedGoalSchema = z
  .object({
    asin: z.string(),
    query: z.string(),
    name: z.string(),
    product_category: z.string(),
    instruction_text: z.string(),
    attributes: z.array(z.string()),
    price_upper: z.number(),
    goal_options: z.union([z.record(z.string(), z.string()), z.array(z.string())]),
  })
  .transform(
    (given): Goal => ({
      productId: given.asin,
      title: given.name,
      query: given.query,
      categoryPath: given.product_category,
      text: given.instruction_text,
      attributes: given.attributes,
      options: Array.isArray(given.goal_options)
        ? given.goal_options.map((value) => ({ value }))
        : Object.entries(given.goal_options).map(([name, value]) => ({ name, value })),
      priceLimit: given.price_upper,
    }),
  )

/** Goals that a file lists, e.g. `goals_synthetic_6910.json`. A goal is checked when it is asked for. */
export function listedGoals(file: string, goals: readonly unknown[]): GoalList {
  return {
    size: goals.length,
    numberAt: (index) => index,
    goal(number) {
      if (goals[number] === undefined) return undefined
      const read = listedGoalSchema.safeParse(goals[number])
      if (read.success) return read.data
      throw new EnvironmentFault(
        'bad_data',
        `webshop data: ${file}, position ${number} is no goal; get the file again: ${z.prettifyError(read.error)}`,
        { cause: read.error },
      )
    },
  }
}

/** A generated instruction, before options and price are added. */
export interface Instruction {
  readonly text: string
  readonly attributes: readonly string[]
}

/**
 * Goals made as the original makes them: for every product with an instruction, one of each combination of its
 * options.
 */
export function generatedGoals(
  catalogue: Catalogue,
  asked: readonly string[],
  instructionOf: (productId: string) => Instruction,
): GoalList {
  const ends = new Uint32Array(asked.length)
  let total = 0
  asked.forEach((id, at) => {
    const { options } = catalogue.product(id)
    let combinations = 1
    for (const values of options.values()) combinations *= values.length
    total += combinations
    ends[at] = total
  })
  const order = shuffledOrder(total, shuffleSeed)
  return {
    size: total,
    numberAt: (index) => index,
    goal(number) {
      const place = order[number]
      if (place === undefined) return undefined
      const at = firstBeyond(ends, place)
      const id = asked[at] ?? ''
      const product = catalogue.product(id)
      const before = at === 0 ? 0 : (ends[at - 1] ?? 0)
      return generatedGoal(product, catalogue.price(id), instructionOf(id), place - before)
    },
  }
}

/** Position of the first end that lies beyond the place. */
function firstBeyond(ends: Uint32Array, place: number): number {
  let low = 0
  let high = ends.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((ends[middle] ?? 0) > place) high = middle
    else low = middle + 1
  }
  return low
}

function generatedGoal(product: Product, price: number, instruction: Instruction, index: number): Goal {
  const options = combination(product.options, index)
  const chosen = options.map(({ name, value }) => `${name}: ${value}`).join(', and ')
  const limit = drawPriceLimit(price, uniforms(seedOf(0, 'webshop', 'limit', product.id)))
  return {
    productId: product.id,
    title: product.title,
    query: product.query,
    categoryPath: product.categoryPath,
    text: `${instruction.text}${chosen === '' ? '' : ` with ${chosen}`}${priceLimitText(limit)}`,
    attributes: instruction.attributes,
    options,
    priceLimit: limit,
  }
}

/** The index-th combination of values: options by name, the last one's values changing first. */
function combination(
  options: ReadonlyMap<string, readonly string[]>,
  index: number,
): { readonly name: string; readonly value: string }[] {
  const chosen: { readonly name: string; readonly value: string }[] = []
  let rest = index
  for (const name of [...options.keys()].sort(compareText).reverse()) {
    const values = options.get(name) ?? []
    chosen.unshift({ name, value: values[rest % values.length] ?? '' })
    rest = Math.floor(rest / values.length)
  }
  return chosen
}

/** An instruction and the product that it was written for. */
export interface WrittenInstruction {
  readonly productId: string
  readonly instruction: HumanInstruction
}

/**
 * Goals that people wrote.
 * @param written those of the shop's products, in the order of the catalogue
 * @param listed all goals of the full shop by number (`human_goals.json`), where that file is there
 */
export function humanGoals(
  catalogue: Catalogue,
  written: readonly WrittenInstruction[],
  listed: readonly string[] | undefined,
): GoalList {
  const usable = written.filter(({ instruction }) => instruction.attributes.length > 0)
  const numbers = listed === undefined ? shuffledNumbers(usable.length) : listedNumbers(usable, listed)
  const byNumber = new Map<number, WrittenInstruction>()
  usable.forEach((one, at) => {
    const number = numbers[at]
    if (number !== undefined) byNumber.set(number, one)
  })
  const playable = [...byNumber.keys()].sort((one, other) => one - other)
  return {
    size: playable.length,
    numberAt: (index) => playable[index] ?? 0,
    goal(number) {
      const found = byNumber.get(number)
      return found === undefined ? undefined : humanGoal(catalogue, found)
    },
  }
}

function shuffledNumbers(count: number): number[] {
  const numbers: number[] = []
  shuffledOrder(count, shuffleSeed).forEach((place, number) => {
    numbers[place] = number
  })
  return numbers
}

/** Numbers by text; of equal texts the first takes the first number. */
function listedNumbers(
  usable: readonly WrittenInstruction[],
  listed: readonly string[],
): (number | undefined)[] {
  const free = new Map<string, number[]>()
  listed.forEach((text, number) => {
    const key = listedText(text)
    const numbers = free.get(key)
    if (numbers === undefined) free.set(key, [number])
    else numbers.push(number)
  })
  return usable.map(({ instruction }) => free.get(listedText(instruction.text))?.shift())
}

/** As the list has instructions: in lower case, without quotation marks, periods at the ends and blanks. */
function listedText(text: string): string {
  return text
    .toLowerCase()
    .replace(/["']/g, '')
    .replace(/^\.+|\.+$/g, '')
    .trim()
}

function humanGoal(catalogue: Catalogue, { productId, instruction }: WrittenInstruction): Goal {
  const product = catalogue.product(productId)
  const draw = uniforms(seedOf(0, 'webshop', 'human limit', productId, instruction.text))
  const limit = drawPriceLimit(catalogue.price(productId), draw)
  const options: GoalOption[] = instruction.options.map((value) => ({ value }))
  return {
    productId,
    title: product.title,
    query: product.query,
    categoryPath: product.categoryPath,
    text: `${instruction.text.replace(/^\.+|\.+$/g, '')}${priceLimitText(limit)}`,
    attributes: instruction.attributes,
    options,
    priceLimit: limit,
  }
}
