/**
 * Reverse-mode differentiation of vectors in double precision, for calculations that the trainers are checked against.
 *
 * Invariants
 * - It shares no code with the graphs of the policy or with PyTorch.
 */

/** A vector with the derivative of the result in it, once that is computed. */
export interface Vector {
  readonly value: Float64Array
  readonly slope: Float64Array
}

export class Tape {
  readonly #steps: (() => void)[] = []

  vector(value: Float64Array): Vector {
    return { value, slope: new Float64Array(value.length) }
  }

  /** A vector made from others. @param back adds to their slopes, given its own */
  made(value: Float64Array, back: (slope: Float64Array) => void): Vector {
    const vector = this.vector(value)
    this.#steps.push(() => back(vector.slope))
    return vector
  }

  /** The derivatives of a number in all that it was made from. */
  differentiate({ slope }: Vector): void {
    slope[0] = 1
    for (const step of this.#steps.toReversed()) step()
  }

  /** Each element by itself. @param derivative from the element and its result */
  each(x: Vector, f: (x: number) => number, derivative: (x: number, y: number) => number): Vector {
    const value = x.value.map(f)
    return this.made(value, (slope) =>
      slope.forEach((s, i) => {
        x.slope[i]! += s * derivative(x.value[i]!, value[i]!)
      }),
    )
  }

  plus(a: Vector, b: Vector): Vector {
    return this.made(
      a.value.map((x, i) => x + b.value[i]!),
      (slope) => {
        slope.forEach((s, i) => {
          a.slope[i]! += s
          b.slope[i]! += s
        })
      },
    )
  }

  times(a: Vector, b: Vector): Vector {
    return this.made(
      a.value.map((x, i) => x * b.value[i]!),
      (slope) => {
        slope.forEach((s, i) => {
          a.slope[i]! += s * b.value[i]!
          b.slope[i]! += s * a.value[i]!
        })
      },
    )
  }

  scaled(x: Vector, factor: number): Vector {
    return this.each(
      x,
      (value) => value * factor,
      () => factor,
    )
  }

  exp(x: Vector): Vector {
    return this.each(x, Math.exp, (_, y) => y)
  }

  /** A part of a vector. */
  slice(x: Vector, begin: number, end: number): Vector {
    return this.made(x.value.slice(begin, end), (slope) =>
      slope.forEach((s, i) => {
        x.slope[begin + i]! += s
      }),
    )
  }

  joined(parts: readonly Vector[]): Vector {
    return this.made(Float64Array.from(parts.flatMap(({ value }) => [...value])), (slope) => {
      let at = 0
      for (const part of parts) for (const i of part.slope.keys()) part.slope[i]! += slope[at++]!
    })
  }

  /** Matrix times vector. @param matrix [out, in] */
  product(matrix: Vector, x: Vector): Vector {
    const width = x.value.length
    const value = new Float64Array(matrix.value.length / width)
    for (const row of value.keys())
      for (const [i, element] of x.value.entries()) value[row]! += matrix.value[row * width + i]! * element
    return this.made(value, (slope) => {
      for (const [row, s] of slope.entries())
        for (const [i, element] of x.value.entries()) {
          matrix.slope[row * width + i]! += s * element
          x.slope[i]! += s * matrix.value[row * width + i]!
        }
    })
  }

  sum(x: Vector): Vector {
    return this.made(Float64Array.of(x.value.reduce((a, b) => a + b, 0)), ([s = 0]) =>
      x.slope.forEach((_, i) => {
        x.slope[i]! += s
      }),
    )
  }

  /** x − log Σ exp(x). */
  logSoftmax(x: Vector): Vector {
    const largest = Math.max(...x.value)
    const total = largest + Math.log(x.value.reduce((sum, each) => sum + Math.exp(each - largest), 0))
    const value = x.value.map((each) => each - total)
    return this.made(value, (slope) => {
      const sum = slope.reduce((a, b) => a + b, 0)
      slope.forEach((s, i) => {
        x.slope[i]! += s - Math.exp(value[i]!) * sum
      })
    })
  }
}
