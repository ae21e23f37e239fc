/**
 * Exact arguments: the numbers of a tool call as they were written.
 *
 * JavaScript reads `86.0` as 86 and rounds integers beyond 2^53; an environment in Python tells 86.0 from 86
 * and answers with its text.
 *
 * Invariants
 * - The exact text of a call's arguments reads as the same arguments.
 * - A call that JavaScript writes as it was written carries nothing extra.
 */
import type { ToolCall } from './message.ts'

// Not yet among the types of TypeScript's library; Node has both since 22.
const json = JSON as unknown as {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown
  rawJSON(text: string): unknown
}

/** Fractions, exponents, a minus before zero and long integers: nothing else is written otherwise. */
const suspicious = /\d[.eE]|-0|\d{16}/

/**
 * The same JSON with numbers that stringify as they were written.
 * @param text what `JSON.parse` has read
 * @returns undefined where no number needs it
 */
export function readExactly(text: string): unknown {
  if (!suspicious.test(text)) return undefined
  let changed = false
  try {
    const value = json.parse(text, (_, value, { source }) => {
      if (typeof value !== 'number' || source === undefined || source === String(value)) return value
      changed = true
      return json.rawJSON(source)
    })
    return changed ? value : undefined
  } catch (cause) {
    // Nested deeper than a reviver reaches.
    if (cause instanceof RangeError) return undefined
    throw cause
  }
}

/** The part of a read JSON text that lies at a path. */
export function partOf(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (part, key) =>
      typeof part === 'object' && part !== null && Object.hasOwn(part, key)
        ? (part as Record<string | number, unknown>)[key]
        : undefined,
    value,
  )
}

/** The call with the exact text of its arguments, where that differs. @param exact the arguments, read exactly */
export function withExactArguments(call: ToolCall, exact: unknown): ToolCall {
  if (exact === undefined || typeof call !== 'object' || call === null) return call
  const exactArguments = JSON.stringify(exact)
  return exactArguments === JSON.stringify(call.arguments) ? call : { ...call, exactArguments }
}

/** The arguments of a call as JSON text, its numbers as they were written. */
export function argumentsText(call: ToolCall): string {
  if (typeof call.exactArguments === 'string') return call.exactArguments
  try {
    return JSON.stringify(call.arguments) ?? 'null'
  } catch (cause) {
    // Nested deeper than can be written: no environment has a use for it.
    if (cause instanceof RangeError) return 'null'
    throw cause
  }
}
