/**
 * A batch: slots of one version and capacity that are sampled from together.
 *
 * Keys and values lie as [slots, keyValueHeads, capacity, headDim] per layer, so the first n slots are a
 * view that the runtime reads in place. What is kept between turns lies in the prefix cache and is copied
 * in and out (a fraction of a millisecond per turn), which keeps the running slots side by side while
 * other episodes wait for their environments.
 *
 * Invariants
 * - Slot s holds `lengths[s]` positions; its mask shows exactly these and the new token.
 * - Slots below `width` are read by a decode step, never fewer than two; empty ones among them compute
 *   what is not read.
 * - A step changes no slot but those it was run for.
 */
import { type Tensor, tensor } from '../graph/runtime.ts'
import type { Architecture } from '../transformer/architecture.ts'
import { cacheNames, maskedScore } from '../transformer/decode-graph.ts'

/**
 * Rows of a step at least: the runtime multiplies a single row by another routine, whose sums round
 * differently from those of two rows or more.
 */
export const fewestRows = 2

export type Feeds = Record<string, Tensor>

export class Batch {
  readonly architecture: Architecture
  readonly capacity: number
  readonly slots: number
  /** Positions held per slot. */
  readonly lengths: Int32Array
  /** Inputs of the next decode step, one per slot. */
  readonly inverseTemperatures: Float32Array
  readonly uniforms: Float32Array
  readonly greedy: Uint8Array
  readonly #ids: Int64Cells
  readonly #positions: Int64Cells
  readonly #mask: Float32Array
  readonly #keys: readonly Float32Array[]
  readonly #values: readonly Float32Array[]
  readonly #feeds = new Map<number, Feeds>()

  /** @param asked slots; there are two at least */
  constructor(architecture: Architecture, capacity: number, asked: number) {
    const slots = Math.max(fewestRows, asked)
    this.architecture = architecture
    this.capacity = capacity
    this.slots = slots
    this.lengths = new Int32Array(slots)
    this.inverseTemperatures = new Float32Array(slots).fill(1)
    this.uniforms = new Float32Array(slots)
    this.greedy = new Uint8Array(slots)
    this.#ids = int64Cells(slots)
    this.#positions = int64Cells(slots)
    this.#mask = new Float32Array(slots * (capacity + 1)).fill(maskedScore)
    const size = slots * architecture.num_key_value_heads * capacity * architecture.head_dim
    const layers = Array.from({ length: architecture.num_hidden_layers })
    this.#keys = layers.map(() => new Float32Array(size))
    this.#values = layers.map(() => new Float32Array(size))
    for (let slot = 0; slot < slots; slot++) this.setLength(slot, 0)
  }

  /** Memory of keys and values. */
  get bytes(): number {
    return 2 * this.#keys.reduce((sum, { byteLength }) => sum + byteLength, 0)
  }

  /** Inputs of a decode step over the first `taken` slots, two at least; made once per width. */
  decodeFeeds(taken: number): Feeds {
    const width = Math.max(fewestRows, taken)
    const known = this.#feeds.get(width)
    if (known !== undefined) return known
    const { capacity } = this
    const { num_key_value_heads: heads, head_dim: headDim } = this.architecture
    const places = capacity + 1
    const feeds: Feeds = {
      ids: tensor('int64', this.#ids.data.subarray(0, width), [width]),
      positions: tensor('int64', this.#positions.data.subarray(0, width), [1, width]),
      mask: tensor('float32', this.#mask.subarray(0, width * places), [width, 1, 1, 1, places]),
      widths: tensor('int64', BigInt64Array.of(BigInt(capacity), 1n), [2]),
      inverse_temperature: tensor('float32', this.inverseTemperatures.subarray(0, width), [width, 1]),
      uniform: tensor('float32', this.uniforms.subarray(0, width), [width, 1]),
      greedy: tensor('bool', this.greedy.subarray(0, width), [width, 1]),
    }
    const size = width * heads * capacity * headDim
    const dims = [width, heads, 1, capacity, headDim]
    for (let layer = 0; layer < this.#keys.length; layer++) {
      const names = cacheNames(layer)
      feeds[names.key] = tensor('float32', (this.#keys[layer] as Float32Array).subarray(0, size), dims)
      feeds[names.value] = tensor('float32', (this.#values[layer] as Float32Array).subarray(0, size), dims)
    }
    this.#feeds.set(width, feeds)
    return feeds
  }

  /** Adds all slots' keys and values, [slots, keyValueHeads, capacity, headDim], to a prefill step's inputs. */
  addPast(feeds: Feeds): void {
    const { num_key_value_heads: heads, head_dim: headDim } = this.architecture
    const dims = [this.slots, heads, this.capacity, headDim]
    for (let layer = 0; layer < this.#keys.length; layer++) {
      const names = cacheNames(layer)
      feeds[names.key] = tensor('float32', this.#keys[layer] as Float32Array, dims)
      feeds[names.value] = tensor('float32', this.#values[layer] as Float32Array, dims)
    }
  }

  /** Says how many positions a slot holds. */
  setLength(slot: number, length: number): void {
    const places = this.capacity + 1
    const at = slot * places
    const before = this.lengths[slot] as number
    if (length > before) this.#mask.fill(0, at + before, at + length)
    else this.#mask.fill(maskedScore, at + length, at + before)
    this.#mask[at + this.capacity] = 0
    this.lengths[slot] = length
  }

  /** The token that the next decode step feeds at the slot's next position. */
  setNext(slot: number, token: number, uniform: number): void {
    this.#ids.low[2 * slot] = token
    this.#positions.low[2 * slot] = this.lengths[slot] as number
    this.uniforms[slot] = uniform
  }

  /**
   * Takes over keys and values that a decode step returned for one slot, and lengthens it by one.
   * @param rows keys and values of each layer in turn, each [width, keyValueHeads·headDim]
   */
  appendDecoded(slot: number, rows: readonly Float32Array[]): void {
    const length = this.lengths[slot] as number
    for (let layer = 0; layer < this.#keys.length; layer++) {
      this.#appendOne(this.#keys[layer] as Float32Array, slot, length, rows[2 * layer] as Float32Array)
      this.#appendOne(this.#values[layer] as Float32Array, slot, length, rows[2 * layer + 1] as Float32Array)
    }
    this.setLength(slot, length + 1)
  }

  #appendOne(into: Float32Array, slot: number, length: number, from: Float32Array): void {
    const { num_key_value_heads: heads, head_dim: headDim } = this.architecture
    let source = slot * heads * headDim
    for (let head = 0; head < heads; head++) {
      let target = ((slot * heads + head) * this.capacity + length) * headDim
      for (let i = 0; i < headDim; i++) into[target++] = from[source++] as number
    }
  }

  /**
   * Takes over a chunk that a prefill step returned for one slot, and lengthens it by `tokens`.
   * @param results `new_key.l` and `new_value.l`, [rows, keyValueHeads, chunk, headDim]
   */
  appendPrefilled(
    slot: number,
    row: number,
    tokens: number,
    results: Readonly<Record<string, Tensor>>,
  ): void {
    const length = this.lengths[slot] as number
    for (let layer = 0; layer < this.#keys.length; layer++) {
      const names = cacheNames(layer)
      this.#appendChunk(this.#keys[layer] as Float32Array, slot, row, tokens, results[names.newKey] as Tensor)
      this.#appendChunk(
        this.#values[layer] as Float32Array,
        slot,
        row,
        tokens,
        results[names.newValue] as Tensor,
      )
    }
    this.setLength(slot, length + tokens)
  }

  #appendChunk(into: Float32Array, slot: number, row: number, tokens: number, result: Tensor): void {
    const { num_key_value_heads: heads, head_dim: headDim } = this.architecture
    const from = result.data as Float32Array
    const chunk = result.dims[2] as number
    const length = this.lengths[slot] as number
    for (let head = 0; head < heads; head++) {
      const source = (row * heads + head) * chunk * headDim
      const target = ((slot * heads + head) * this.capacity + length) * headDim
      into.set(from.subarray(source, source + tokens * headDim), target)
    }
  }

  /** Copies positions [0, length) of a stored context, [2·layers, heads, capacity, headDim], into a slot. */
  restore(slot: number, stored: Float32Array, storedCapacity: number, length: number): void {
    this.#eachHead(
      storedCapacity,
      (own, slotAt, storedAt, headDim) => {
        own.set(stored.subarray(storedAt, storedAt + length * headDim), slotAt)
      },
      slot,
    )
    this.setLength(slot, length)
  }

  /** Copies positions [from, to) of a slot into a stored context. */
  save(slot: number, stored: Float32Array, storedCapacity: number, from: number, to: number): void {
    this.#eachHead(
      storedCapacity,
      (own, slotAt, storedAt, headDim) => {
        stored.set(own.subarray(slotAt + from * headDim, slotAt + to * headDim), storedAt + from * headDim)
      },
      slot,
    )
  }

  /** Copies a slot with all that it holds into a slot of this or another batch of the architecture. */
  copyTo(target: Batch, from: number, to: number): void {
    const { num_key_value_heads: heads, head_dim: headDim } = this.architecture
    const size = (this.lengths[from] as number) * headDim
    for (let layer = 0; layer < this.#keys.length; layer++) {
      for (let head = 0; head < heads; head++) {
        const source = (from * heads + head) * this.capacity * headDim
        const at = (to * heads + head) * target.capacity * headDim
        const keys = this.#keys[layer] as Float32Array
        const values = this.#values[layer] as Float32Array
        ;(target.#keys[layer] as Float32Array).set(keys.subarray(source, source + size), at)
        ;(target.#values[layer] as Float32Array).set(values.subarray(source, source + size), at)
      }
    }
    target.setLength(to, this.lengths[from] as number)
    target.inverseTemperatures[to] = this.inverseTemperatures[from] as number
    target.greedy[to] = this.greedy[from] as number
    target.setNext(to, this.#ids.low[2 * from] as number, this.uniforms[from] as number)
  }

  #eachHead(
    storedCapacity: number,
    copy: (own: Float32Array, slotAt: number, storedAt: number, headDim: number) => void,
    slot: number,
  ): void {
    const { num_key_value_heads: heads, head_dim: headDim } = this.architecture
    const layers = this.#keys.length
    for (let part = 0; part < 2 * layers; part++) {
      const own = (part < layers ? this.#keys[part] : this.#values[part - layers]) as Float32Array
      for (let head = 0; head < heads; head++) {
        const slotAt = (slot * heads + head) * this.capacity * headDim
        copy(own, slotAt, (part * heads + head) * storedCapacity * headDim, headDim)
      }
    }
  }
}

/** A BigInt64Array with a view of its low halves: writing a number makes no BigInt. */
export interface Int64Cells {
  readonly data: BigInt64Array
  /** Even places are the low halves; every platform that Node runs the engine on is little-endian. */
  readonly low: Int32Array
}

export function int64Cells(length: number): Int64Cells {
  const data = new BigInt64Array(length)
  return { data, low: new Int32Array(data.buffer) }
}
