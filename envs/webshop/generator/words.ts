/**
 * Words of the built-in shop: its wares, their attributes and their options.
 *
 * Invariants
 * - No attribute's words are all within another one's, so that none is taken for another.
 * - Colours are ones that the shop compares as such, and none is within another; no other value holds one.
 * - The words for a ware in a title and in an instruction have the same stem.
 */

import words from './words.json' with { type: 'json' }

export type Department = keyof typeof words.departments

/** A kind of product. */
export interface Ware {
  readonly noun: string
  /** The word that finds it in a search; also the product's `query`. */
  readonly plural: string
  readonly department: Department
  /** Usual price in dollars. */
  readonly price: number
}

/** The attributes of a department's products, and its words for sizes. */
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
