/**
 * Words of the built-in shop: what it sells, what products are like, what can be chosen.
 *
 * Invariants
 * - No attribute's words are all within another one's, so that none is taken for another.
 * - Colours are ones that the shop compares as such, and none is within another; no other value holds one.
 * - What a ware is called in a title and in an instruction have the same stem.
 */

import words from './words.json' with { type: 'json' }

export type Department = keyof typeof words.departments

/** A kind of product. */
export interface Ware {
  readonly noun: string
  /** What it is searched by; also the product's `query`. */
  readonly plural: string
  readonly department: Department
  /** Usual price in dollars. */
  readonly price: number
}

/** What products of a department can be like, and how sizes are called there. */
export interface DepartmentWords {
  readonly title: string
  readonly aisle: string
  readonly attributes: readonly string[]
  readonly sizes: readonly string[]
  /** A third option, which only some products have. */
  readonly extra: { readonly name: string; readonly values: readonly string[] }
}

export const departmentWords: Readonly<Record<Department, DepartmentWords>> = words.departments
/** Everything sold. */
export const wares = words.wares as readonly Ware[]
/** Colours, and makers, whose names mean nothing. */
export const { colors, brands }: Readonly<Record<'colors' | 'brands', readonly string[]>> = words
