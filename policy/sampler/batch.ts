/**
 * A batch: slots of one version and capacity that are sampled from together.
 *
 * Keys and values lie as [slots, keyValueHeads, capacity, headDim] per layer, so the first n slots are a
 * view that the runtime reads in place. Keys and values between turns lie in the prefix cache and are copied
 * in and out (a fraction of a millisecond per turn), which keeps the running slots side by side while
 * other episodes wait for their environments.
 *
 * Invariants
 * - Slot s holds `lengths[s]` positions; a decode step sees exactly these and the new token.
 * - Slots below `width` take part in a decode step, never fewer than two; what it computes for empty ones among
 *   them is not read.
 * - A step changes nothing that a slot holds but in those it was run for: in the others it writes one place beyond.
 */
import { nothingOutput } from '../graph/graph.ts'
import { type Tensor, tensor } from '../graph/runtime.ts'
import type { Architecture } from '../transformer/architecture.ts'
import { cacheNames } from '../transformer/sampling-layers.ts'

/**
 * Rows of a step at least: the runtime multiplies a single row by another routine, whose sums round
 * differently from those of two rows or more.
 */
export const fewestRows = 2

export type Feeds = Record<string, Tensor>

/** A decode step: what is fed, and the tensors that it writes. */
export interface DecodeStep {
  readonly feeds: Feeds
  readonly outputs: Readonly<Record<string, Tensor | null>>
}

/** How a token is drawn. */
export interface DrawSettings {
  readonly inverseTemperature: number
  readonly greedy: boolean
  readonly uniform: number
}

/** A step that reads one slot's tokens, and what it draws after them. */
export interface ReadStep extends DecodeStep {
  readonly token: Tensor<'int32'>
  readonly probability: Tensor<'float32'>
}

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
  /** `lengths`, but within the capacity where a slot is full or none is in it. */
  readonly #places: Int32Array
  /** The tokens that the last decode step drew, one per slot. */
  readonly tokens: Int32Array
  readonly probabilities: Float32Array
  readonly #keys: readonly Float32Array[]
  readonly #values: readonly Float32Array[]
  readonly #steps = new Map<number, DecodeStep>()
  readonly #slotCaches = new Map<number, DecodeStep>()

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
    this.#places = new Int32Array(slots)
    this.tokens = new Int32Array(slots)
    this.probabilities = new Float32Array(slots)
    const size = slots * architecture.num_key_value_heads * capacity * architecture.head_dim
    const layers = Array.from({ length: architecture.num_hidden_layers })
    this.#keys = layers.map(() => new Float32Array(size))
    this.#values = layers.map(() => new Float32Array(size))
  }

  /** Memory of keys and values. */
  get bytes(): number {
    return 2 * this.#keys.reduce((sum, { byteLength }) => sum + byteLength, 0)
  }

  /** A decode step over the first `taken` slots, two at least; made once per width. */
  decodeStep(taken: number): DecodeStep {
    const width = Math.max(fewestRows, taken)
    const known = this.#steps.get(width)
    if (known !== undefined) return known
    const { capacity } = this
    const { num_key_value_heads: heads, head_dim: headDim } = this.architecture
    const feeds: Feeds = {
      ids: tensor('int64', this.#ids.data.subarray(0, width), [width, 1]),
      lengths: tensor('int32', this.#places.subarray(0, width), [width]),
      capacity: tensor('int32', Int32Array.of(capacity), []),
      inverse_temperature: tensor('float32', this.inverseTemperatures.subarray(0, width), [width, 1]),
      uniform: tensor('float32', this.uniforms.subarray(0, width), [width, 1]),
      greedy: tensor('bool', this.greedy.subarray(0, width), [width, 1]),
    }
    const outputs: Record<string, Tensor | null> = {
      [nothingOutput]: null,
      token: tensor('int32', this.tokens.subarray(0, width), [width, 1]),
      probability: tensor('float32', this.probabilities.subarray(0, width), [width, 1]),
    }
    const size = width * heads * capacity * headDim
    const cache = this.#cacheTensors(0, size, [width, heads, capacity, headDim])
    const step = { feeds: { ...cache.feeds, ...feeds }, outputs: { ...outputs, ...cache.outputs } }
    this.#steps.set(width, step)
    return step
  }

  /**
   * A step that reads tokens into one slot, after what it holds.
   * @param draw of the token after them
   */
  readStep(slot: number, tokens: Int32Array, draw: DrawSettings): ReadStep {
    const ids = int64Cells(tokens.length)
    for (const [i, token] of tokens.entries()) ids.low[2 * i] = token
    const cache = this.#cacheOf(slot)
    const token = tensor('int32', new Int32Array(1), [1, 1])
    const probability = tensor('float32', new Float32Array(1), [1, 1])
    const feeds: Feeds = {
      ...cache.feeds,
      ids: tensor('int64', ids.data, [1, tokens.length]),
      lengths: tensor('int32', Int32Array.of((this.lengths[slot] as number) + tokens.length - 1), [1]),
      capacity: tensor('int32', Int32Array.of(this.capacity), []),
      inverse_temperature: tensor('float32', Float32Array.of(draw.inverseTemperature), [1, 1]),
      uniform: tensor('float32', Float32Array.of(draw.uniform), [1, 1]),
      greedy: tensor('bool', Uint8Array.of(draw.greedy ? 1 : 0), [1, 1]),
    }
    return {
      feeds,
      outputs: { [nothingOutput]: null, ...cache.outputs, token, probability },
      token,
      probability,
    }
  }

  /** One slot's keys and values, as inputs and as outputs; made once. */
  #cacheOf(slot: number): DecodeStep {
    const known = this.#slotCaches.get(slot)
    if (known !== undefined) return known
    const { num_key_value_heads: heads, head_dim: headDim } = this.architecture
    const size = heads * this.capacity * headDim
    const cache = this.#cacheTensors(slot * size, size, [1, heads, this.capacity, headDim])
    this.#slotCaches.set(slot, cache)
    return cache
  }

  /** Keys and values of slots that lie side by side. */
  #cacheTensors(from: number, size: number, dims: readonly number[]) {
    const feeds: Feeds = {}
    const outputs: Feeds = {}
    for (let layer = 0; layer < this.#keys.length; layer++) {
      const names = cacheNames(layer)
      const part = (data: Float32Array): Tensor => tensor('float32', data.subarray(from, from + size), dims)
      feeds[names.key] = outputs[names.newKey] = part(this.#keys[layer] as Float32Array)
      feeds[names.value] = outputs[names.newValue] = part(this.#values[layer] as Float32Array)
    }
    return { feeds, outputs }
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
    this.lengths[slot] = length
    this.#places[slot] = Math.min(length, this.capacity - 1)
  }

  /** How the slot's tokens are drawn. */
  setDrawing(slot: number, { inverseTemperature, greedy }: Omit<DrawSettings, 'uniform'>): void {
    this.inverseTemperatures[slot] = inverseTemperature
    this.greedy[slot] = greedy ? 1 : 0
  }

  /** The token that the next decode step feeds at the slot's next position. */
  setNext(slot: number, token: number, uniform: number): void {
    this.#ids.low[2 * slot] = token
    this.uniforms[slot] = uniform
  }

  /** Counts the position that a decode step wrote. */
  lengthen(slot: number): void {
    this.setLength(slot, (this.lengths[slot] as number) + 1)
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
