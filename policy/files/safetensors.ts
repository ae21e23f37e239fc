/**
 * Safetensors files: named tensors behind a JSON header (huggingface/safetensors, format 0.4).
 *
 * Invariants
 * - [TENSORS-1] The same tensors and metadata give the same bytes, whatever order the map has.
 * - [TENSORS-2] A reader believes nothing: every length, type, shape and offset is checked against the file before it
 *   is used, and tensors tile the data without holes or overlaps.
 * - [TENSORS-3] Tensors are views over the bytes read wherever alignment permits; files written here always do.
 */
import { open } from 'node:fs/promises'
import { CheckpointFault, fileFault } from './checkpoint-fault.ts'
import { type FileDigest, readWhole, writeDurably } from './durable-file.ts'

/** Element types read and written, and the arrays they live in. F16 and BF16 are raw 16-bit patterns. */
export interface ElementArrays {
  readonly F32: Float32Array
  readonly F16: Uint16Array
  readonly BF16: Uint16Array
  readonly I32: Int32Array
  readonly I64: BigInt64Array
  readonly U8: Uint8Array
}

type Dtype = keyof ElementArrays

/** A tensor in row-major order. */
export type Tensor = {
  [D in Dtype]: { readonly dtype: D; readonly shape: readonly number[]; readonly data: ElementArrays[D] }
}[Dtype]

/** The contents of a tensor file. */
export interface TensorFile {
  readonly tensors: ReadonlyMap<string, Tensor>
  readonly metadata: Readonly<Record<string, string>>
}

const elementBytes: Record<Dtype, number> = { F32: 4, F16: 2, BF16: 2, I32: 4, I64: 8, U8: 1 }

/** The reference implementation's limit. */
const maxHeaderBytes = 100_000_000

const alignment = 8

function isDtype(text: unknown): text is Dtype {
  return typeof text === 'string' && Object.hasOwn(elementBytes, text)
}

/**
 * Writes a file of tensors, whole or not at all.
 * @returns size and checksum of what was written
 * @throws CheckpointFault `foreign` when a shape does not fit its data; `io`
 */
export async function writeSafetensors(
  file: string,
  tensors: ReadonlyMap<string, Tensor>,
  metadata: Readonly<Record<string, string>> = {},
): Promise<FileDigest> {
  // Widest elements first keeps every tensor aligned without padding between them.
  const ordered = [...tensors].sort(
    ([a, { dtype: ta }], [b, { dtype: tb }]) =>
      elementBytes[tb] - elementBytes[ta] || (a < b ? -1 : a > b ? 1 : 0),
  )
  const header: [string, unknown][] = []
  const names = Object.keys(metadata).sort()
  if (names.length > 0)
    header.push(['__metadata__', Object.fromEntries(names.map((key) => [key, metadata[key]]))])
  let offset = 0
  for (const [name, { dtype, shape, data }] of ordered) {
    const count = shape.reduce((product, size) => product * size, 1)
    if (name === '__metadata__' || count !== data.length)
      throw new CheckpointFault(
        'foreign',
        `${file}: tensor "${name}" of shape [${shape.join(', ')}] needs ${count} elements, got ${data.length}`,
      )
    header.push([name, { dtype, shape, data_offsets: [offset, offset + data.byteLength] }])
    offset += data.byteLength
  }
  // Built by hand because an object would reorder names that look like integers.
  const json = `{${header.map(([name, entry]) => `${JSON.stringify(name)}:${JSON.stringify(entry)}`).join(',')}}`
  const length = Buffer.byteLength(json)
  const padding = (alignment - (length % alignment)) % alignment
  const prefix = new Uint8Array(8)
  new DataView(prefix.buffer).setBigUint64(0, BigInt(length + padding), true)
  return writeDurably(file, [prefix, json + ' '.repeat(padding), ...ordered.map(([, { data }]) => data)])
}

/** Reads a file of tensors. @throws CheckpointFault `missing`, `corrupt`, `foreign`, `io` */
export async function readSafetensors(file: string): Promise<TensorFile> {
  return parseSafetensors(await readWhole(file), file)
}

/**
 * Reads tensors from the bytes of a file; views share these bytes.
 * @param file named in faults
 * @throws CheckpointFault `corrupt`, `foreign`
 */
export function parseSafetensors(bytes: Uint8Array<ArrayBuffer>, file: string): TensorFile {
  const { extents, metadata, dataStart } = layoutOf(bytes, bytes.byteLength, file)
  return {
    tensors: new Map(extents.map((extent) => [extent.name, tensorOver(bytes, dataStart, extent)])),
    metadata,
  }
}

/**
 * The tensors that a file says it holds, checked against its size; their numbers are not read.
 * @throws CheckpointFault `missing`, `corrupt`, `foreign`, `io`
 */
export async function readTensorShapes(file: string): Promise<ReadonlyMap<string, TensorShape>> {
  try {
    await using handle = await open(file, 'r')
    const { size } = await handle.stat()
    const start = new Uint8Array(Math.min(size, 128))
    await handle.read(start, 0, start.length, 0)
    const bytes = new Uint8Array(Math.min(size, headerEnd(start, size, file)))
    await handle.read(bytes, 0, bytes.length, 0)
    return new Map(layoutOf(bytes, size, file).extents.map((extent) => [extent.name, extent]))
  } catch (cause) {
    throw fileFault(file, 'reading it', cause)
  }
}

/** Where the tensors of a file lie. @param bytes the header at least @param size of the whole file */
function layoutOf(bytes: Uint8Array<ArrayBuffer>, size: number, file: string) {
  const { header, dataStart } = parseHeader(bytes, size, file)
  const dataBytes = size - dataStart
  const metadata: Record<string, string> = {}
  const extents: Extent[] = []
  for (const [name, entry] of Object.entries(header)) {
    if (name === '__metadata__') Object.assign(metadata, parseMetadata(entry, file))
    else extents.push(parseExtent(name, entry, dataBytes, file))
  }
  extents.sort((a, b) => a.begin - b.begin || a.end - b.end)
  let reached = 0
  for (const extent of extents) {
    if (extent.begin !== reached)
      throw new CheckpointFault(
        'corrupt',
        `${file}: tensor "${extent.name}" begins at byte ${extent.begin} of the data, expected ${reached}: tensors must tile the data`,
      )
    reached = extent.end
  }
  if (reached !== dataBytes)
    throw new CheckpointFault(
      'corrupt',
      `${file}: tensors end at byte ${reached} of the data, but the file holds ${dataBytes}`,
    )
  return { extents, metadata, dataStart }
}

/** A tensor without its numbers. */
export interface TensorShape {
  readonly dtype: Dtype
  readonly shape: readonly number[]
}

interface Extent extends TensorShape {
  readonly name: string
  readonly begin: number
  readonly end: number
}

/** Byte at which the data begins. @param bytes the beginning of the file @param size of the whole file */
function headerEnd(bytes: Uint8Array<ArrayBuffer>, size: number, file: string): number {
  refuseLfsPointer(bytes, file)
  if (size < 8) throw new CheckpointFault('corrupt', `${file}: ${size} bytes are no safetensors file`)
  const length = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true)
  const limit = Math.min(maxHeaderBytes, size - 8)
  if (length > BigInt(limit))
    throw new CheckpointFault(
      'corrupt',
      `${file}: the header claims ${length} bytes, at most ${limit} are possible`,
    )
  return 8 + Number(length)
}

function parseHeader(
  bytes: Uint8Array<ArrayBuffer>,
  size: number,
  file: string,
): { header: Record<string, unknown>; dataStart: number } {
  const dataStart = headerEnd(bytes, size, file)
  let header: unknown
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
      bytes.subarray(8, dataStart),
    )
    header = JSON.parse(text)
  } catch (cause) {
    throw new CheckpointFault('corrupt', `${file}: the header is not JSON`, { cause })
  }
  if (!isRecord(header))
    throw new CheckpointFault('corrupt', `${file}: the header is ${typeOf(header)}, expected an object`)
  return { header, dataStart }
}

function parseMetadata(entry: unknown, file: string): Record<string, string> {
  if (!isRecord(entry))
    throw new CheckpointFault('corrupt', `${file}: __metadata__ is ${typeOf(entry)}, expected an object`)
  for (const [key, value] of Object.entries(entry))
    if (typeof value !== 'string')
      throw new CheckpointFault(
        'corrupt',
        `${file}: __metadata__.${key} is ${typeOf(value)}, expected a string`,
      )
  return entry as Record<string, string>
}

function parseExtent(name: string, entry: unknown, dataBytes: number, file: string): Extent {
  const at = `${file}: tensor "${name}"`
  if (!isRecord(entry))
    throw new CheckpointFault('corrupt', `${at} is ${typeOf(entry)} in the header, expected an object`)
  const { dtype, shape, data_offsets: offsets } = entry
  if (!isDtype(dtype))
    throw new CheckpointFault(
      typeof dtype === 'string' ? 'foreign' : 'corrupt',
      `${at} has dtype ${JSON.stringify(dtype)}, expected one of ${Object.keys(elementBytes).join(', ')}`,
    )
  if (!Array.isArray(shape) || !shape.every(isSize))
    throw new CheckpointFault(
      'corrupt',
      `${at} has shape ${JSON.stringify(shape)}, expected non-negative integers`,
    )
  if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(isSize))
    throw new CheckpointFault(
      'corrupt',
      `${at} has data_offsets ${JSON.stringify(offsets)}, expected two non-negative integers`,
    )
  const [begin, end] = offsets as [number, number]
  if (begin > end || end > dataBytes)
    throw new CheckpointFault(
      'corrupt',
      `${at} spans bytes ${begin} to ${end} of the data, which holds ${dataBytes}`,
    )
  const needed = (shape as number[]).reduce((product, size) => product * size, elementBytes[dtype])
  if (needed !== end - begin)
    throw new CheckpointFault(
      'corrupt',
      `${at} of shape [${shape.join(', ')}] needs ${needed} bytes as ${dtype}, but spans ${end - begin}`,
    )
  return { name, dtype, shape: shape as number[], begin, end }
}

const arrayOver: Record<Dtype, (buffer: ArrayBuffer, at: number, length: number) => Tensor['data']> = {
  F32: (buffer, at, length) => new Float32Array(buffer, at, length),
  F16: (buffer, at, length) => new Uint16Array(buffer, at, length),
  BF16: (buffer, at, length) => new Uint16Array(buffer, at, length),
  I32: (buffer, at, length) => new Int32Array(buffer, at, length),
  I64: (buffer, at, length) => new BigInt64Array(buffer, at, length),
  U8: (buffer, at, length) => new Uint8Array(buffer, at, length),
}

function tensorOver(bytes: Uint8Array<ArrayBuffer>, dataStart: number, extent: Extent): Tensor {
  const { dtype, shape, begin, end } = extent
  const at = bytes.byteOffset + dataStart + begin
  const length = (end - begin) / elementBytes[dtype]
  const data =
    at % elementBytes[dtype] === 0
      ? arrayOver[dtype](bytes.buffer, at, length)
      : arrayOver[dtype](bytes.buffer.slice(at, at + (end - begin)), 0, length)
  return { dtype, shape, data } as Tensor
}

/**
 * A floating-point tensor as Float32: F32 as it is, BF16 and F16 widened exactly.
 * @param where named in the fault, e.g. `model.safetensors: tensor "x"`
 * @throws CheckpointFault `foreign` for integers
 */
export function asFloat32(tensor: Tensor, where: string): Float32Array {
  if (tensor.dtype === 'F32') return tensor.data
  if (tensor.dtype === 'BF16') return widenBrainFloats(tensor.data)
  if (tensor.dtype === 'F16') return widenHalfFloats(tensor.data)
  throw new CheckpointFault('foreign', `${where} has dtype ${tensor.dtype}, expected F32, BF16 or F16`)
}

function widenBrainFloats(halves: Uint16Array): Float32Array {
  const words = new Uint32Array(halves.length)
  for (let i = 0; i < halves.length; i++) words[i] = (halves[i] as number) << 16
  return new Float32Array(words.buffer)
}

function widenHalfFloats(halves: Uint16Array): Float32Array {
  const floats = new Float32Array(halves.length)
  for (let i = 0; i < halves.length; i++) {
    const bits = halves[i] as number
    const exponent = (bits >> 10) & 31
    const fraction = bits & 1023
    const magnitude =
      exponent === 0
        ? fraction * 2 ** -24
        : exponent === 31
          ? fraction === 0
            ? Infinity
            : NaN
          : (1 + fraction / 1024) * 2 ** (exponent - 15)
    floats[i] = bits & 0x8000 ? -magnitude : magnitude
  }
  return floats
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isSize(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function typeOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`
}

const opening = Buffer.from('version https://git-lfs.github.com/spec/')

/** @param bytes of the file, from its beginning @throws CheckpointFault `foreign` */
export function refuseLfsPointer(bytes: Uint8Array, file: string): void {
  if (opening.equals(bytes.subarray(0, opening.length)))
    throw new CheckpointFault(
      'foreign',
      `${file} is a Git LFS pointer, not the file itself: run \`git lfs pull\` in its folder`,
    )
}
