/**
 * GROUP_CONCAT.
 *
 * Invariants
 * - A row with a NULL among its values is left out; the result has at most MySQL's 1,024 bytes.
 */

import { orderOf } from '../expressions/comparison.ts'
import { groupConcatBytes } from '../state-hash.ts'
import type { Call } from '../syntax/syntax.ts'
import type { Type } from '../values/type.ts'
import { toText, type Value } from '../values/value.ts'
import type { Accumulator } from './accumulator.ts'

interface Member {
  readonly text: string
  readonly keys: readonly Value[]
}

/** @param types of the values, and behind them of the keys to order by */
export function foldedConcat(types: readonly Type[], call: Call): Accumulator {
  const terms = call.order ?? []
  const valueCount = types.length - terms.length
  const orders = terms.map(({ descending }, at) => ({
    compare: orderOf(types[valueCount + at] as Type),
    sign: descending ? -1 : 1,
  }))
  const members: Member[] = []
  return {
    add: (given) => {
      const values = given.slice(0, valueCount)
      if (values.includes(null)) return
      const text = values.map((value, at) => (value === null ? '' : toText(value, types[at]))).join('')
      members.push({ text, keys: given.slice(valueCount) })
    },
    result: () => {
      if (members.length === 0) return null
      const sorted = members.toSorted((left, right) => {
        for (const [at, { compare, sign }] of orders.entries()) {
          const order = sign * compare(left.keys[at] ?? null, right.keys[at] ?? null)
          if (order !== 0) return order
        }
        return 0
      })
      return cut(sorted.map(({ text }) => text).join(call.separator ?? ','))
    },
  }
}

/** Cut at the limit, between two characters. */
function cut(text: string): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= groupConcatBytes) return text
  let end = groupConcatBytes
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return bytes.subarray(0, end).toString()
}
