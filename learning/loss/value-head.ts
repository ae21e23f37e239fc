/**
 * A value head: V(h) = w·h/√d + b, linear in a hidden state h [d] of the policy, which it does not change.
 *
 * Fitted to targets y of the turns i of an update, w and b become the minimum of
 *   ½·Σᵢ (V(hᵢ) − yᵢ)² + ½·λ·(‖w − w₀‖² + (b − b₀)²),   λ = 10,
 * with w₀ and b₀ of before: the plain squared loss of PPO's critic (arXiv 1707.06347, section 5), minimized at once. Ours: the stay with what was
 * known counts as ten turns, where gradient steps would stop early.
 *
 * Invariants
 * - [VALUE-HEAD-1] The gradient of that sum is zero at the fitted head.
 * - Before it was fitted, a head values everything as 0.
 */

/** w, and b as the last number: [d + 1]. */
export type ValueHead = readonly number[]

/** λ */
const stay = 10

/** V of each row. @param hidden [rows, width] @returns [rows] */
export function valuesBy(head: ValueHead | undefined, hidden: Float32Array, width: number): number[] {
  return featuresOf(hidden, width).map((features) => (head === undefined ? 0 : product(head, features)))
}

/** The head fitted to the targets of rows. @param hidden [rows, width] @param targets [rows] */
export function fittedHead(
  head: ValueHead = [],
  hidden: Float32Array,
  width: number,
  targets: ArrayLike<number>,
): ValueHead {
  const rows = featuresOf(hidden, width)
  const before = Array.from({ length: width + 1 }, (_, at) => head[at] ?? 0)
  const missed = rows.map((features, row) => (targets[row] ?? 0) - product(before, features))
  const change = changeOf(rows, missed, width + 1)
  return before.map((value, at) => value + (change[at] ?? 0))
}

/** The change of the head: (ΦᵀΦ + λI)⁻¹Φᵀr, or the same as Φᵀ(ΦΦᵀ + λI)⁻¹r where that is smaller. */
function changeOf(rows: readonly Float64Array[], missed: readonly number[], size: number): readonly number[] {
  const columns = Array.from({ length: size }, (_, at) => Float64Array.from(rows, (row) => row[at] ?? 0))
  if (rows.length < size) {
    const found = solved(gram(rows), missed)
    return columns.map((column) => product(found, column))
  }
  return solved(
    gram(columns),
    columns.map((column) => product(missed, column)),
  )
}

/** All products of vectors with one another, λ more on the diagonal: [n, n]. */
function gram(vectors: readonly Float64Array[]): Float64Array[] {
  return vectors.map((one, at) =>
    Float64Array.from(vectors, (other, place) => product(one, other) + (place === at ? stay : 0)),
  )
}

/** x of A·x = b, for a symmetric positive definite A, by Cholesky's decomposition. */
function solved(matrix: readonly Float64Array[], b: readonly number[]): number[] {
  const lower = matrix.map(() => new Float64Array(matrix.length))
  const y: number[] = []
  for (const [i, row] of lower.entries()) {
    for (let j = 0; j <= i; j++) {
      let sum = matrix[i]?.[j] ?? 0
      for (let k = 0; k < j; k++) sum -= (row[k] ?? 0) * (lower[j]?.[k] ?? 0)
      row[j] = i === j ? Math.sqrt(sum) : sum / (lower[j]?.[j] ?? 1)
    }
    const known = y.reduce((sum, value, k) => sum + value * (row[k] ?? 0), 0)
    y.push(((b[i] ?? 0) - known) / (row[i] ?? 1))
  }
  const x = y.map(() => 0)
  for (let i = x.length - 1; i >= 0; i--) {
    let sum = y[i] ?? 0
    for (let k = i + 1; k < x.length; k++) sum -= (lower[k]?.[i] ?? 0) * (x[k] ?? 0)
    x[i] = sum / (lower[i]?.[i] ?? 1)
  }
  return x
}

/** [rows] of [h/√d, 1] */
function featuresOf(hidden: Float32Array, width: number): Float64Array[] {
  return Array.from({ length: hidden.length / width }, (_, row) => {
    const features = new Float64Array(width + 1).fill(1)
    for (let at = 0; at < width; at++) features[at] = (hidden[row * width + at] ?? 0) / Math.sqrt(width)
    return features
  })
}

function product(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0
  for (let at = 0; at < a.length; at++) sum += (a[at] ?? 0) * (b[at] ?? 0)
  return sum
}
