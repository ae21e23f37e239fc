/** A figure of a benchmark. */

/** One measured value, with the peer's or the limit's value of the same run where there is one. */
export interface Figure {
  readonly name: string
  readonly value: number
  readonly unit: string
  readonly reference?: number
  /** value ÷ reference */
  readonly ratio?: number
}
