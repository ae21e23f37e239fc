/**
 * How a context grows: from turn to turn tokens come behind those that it has.
 *
 * Invariants
 * - Contexts that were handed out stay as they are.
 */

/** The tokens of a context and those that come after it. @returns a new array */
export function grownContext(context: Int32Array, more: Int32Array): Int32Array<ArrayBuffer> {
  const grown = new Int32Array(context.length + more.length)
  grown.set(context)
  grown.set(more, context.length)
  return grown
}
