/**
 * MySQL's exact numbers.
 *
 * Invariants
 * - Sums, differences and products are exact; a scale beyond 30 is cut.
 * - A quotient has whole groups of nine decimal places, as MySQL's has; it is rounded where it is shown or stored.
 * - Rounding is half away from zero.
 */

const mostScale = 30
const groupDigits = 9

export class Decimal {
  readonly units: bigint
  readonly scale: number

  constructor(units: bigint, scale: number) {
    this.units = units
    this.scale = scale
  }

  /** @param text a numeral without an exponent */
  static parse(text: string): Decimal {
    const [, sign = '', whole = '', fraction = ''] = /^([+-]?)(\d*)\.?(\d*)$/.exec(text) ?? []
    const units = BigInt(`${whole}${fraction}` || '0')
    return new Decimal(sign === '-' ? -units : units, fraction.length)
  }

  toString(): string {
    const digits = (this.units < 0n ? -this.units : this.units).toString().padStart(this.scale + 1, '0')
    const whole = digits.slice(0, digits.length - this.scale)
    const sign = this.units < 0n ? '-' : ''
    return this.scale === 0 ? sign + whole : `${sign}${whole}.${digits.slice(-this.scale)}`
  }

  toNumber(): number {
    return Number(this.toString())
  }

  rounded(scale: number): Decimal {
    if (scale >= this.scale) return new Decimal(this.units * power(scale - this.scale), scale)
    const divisor = power(this.scale - scale)
    const half = this.units < 0n ? -(divisor / 2n) : divisor / 2n
    return new Decimal((this.units + half) / divisor, scale)
  }

  truncated(scale: number): Decimal {
    if (scale >= this.scale) return this.rounded(scale)
    return new Decimal(this.units / power(this.scale - scale), scale)
  }

  /** The whole number toward which it is rounded. */
  whole(): bigint {
    return this.rounded(0).units
  }

  negated(): Decimal {
    return new Decimal(-this.units, this.scale)
  }

  plus(other: Decimal): Decimal {
    const scale = Math.max(this.scale, other.scale)
    return new Decimal(this.rounded(scale).units + other.rounded(scale).units, scale)
  }

  times(other: Decimal): Decimal {
    const product = new Decimal(this.units * other.units, this.scale + other.scale)
    return product.scale > mostScale ? product.truncated(mostScale) : product
  }

  /** Undefined for a division by zero. @param increment decimal places beyond those of the dividend */
  over(other: Decimal, increment: number): Decimal | undefined {
    if (other.units === 0n) return undefined
    const [left, right] = [grouped(this.scale), grouped(other.scale)]
    const more = Math.max(0, increment - (left - this.scale + right - other.scale))
    const scale = Math.min(mostScale + groupDigits, grouped(left + right + more))
    return new Decimal((this.units * power(scale + other.scale)) / (other.units * power(this.scale)), scale)
  }

  /** The remainder of a division; undefined for a division by zero. */
  rest(other: Decimal): Decimal | undefined {
    if (other.units === 0n) return undefined
    const scale = Math.max(this.scale, other.scale)
    return new Decimal(this.rounded(scale).units % other.rounded(scale).units, scale)
  }

  compare(other: Decimal): number {
    const scale = Math.max(this.scale, other.scale)
    const [left, right] = [this.rounded(scale).units, other.rounded(scale).units]
    return left < right ? -1 : left > right ? 1 : 0
  }
}

function power(digits: number): bigint {
  return 10n ** BigInt(digits)
}

function grouped(scale: number): number {
  return Math.ceil(scale / groupDigits) * groupDigits
}
