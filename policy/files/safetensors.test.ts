import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { CheckpointFault } from './checkpoint-fault.ts'
import { asFloat32, parseSafetensors, readSafetensors, type Tensor, writeSafetensors } from './safetensors.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdure-safetensors-'))
  return () => rm(folder, { recursive: true, force: true })
})

const sample = new Map<string, Tensor>([
  ['bytes', { dtype: 'U8', shape: [3], data: new Uint8Array([1, 2, 3]) }],
  ['7', { dtype: 'F32', shape: [2, 1], data: new Float32Array([1.5, -2]) }],
  ['__proto__', { dtype: 'I64', shape: [], data: new BigInt64Array([-5n]) }],
  ['half', { dtype: 'BF16', shape: [1, 1], data: new Uint16Array([0x3fc0]) }],
  ['none', { dtype: 'I32', shape: [0, 4], data: new Int32Array() }],
])

function fileOf(header: unknown, dataBytes: number): Uint8Array<ArrayBuffer> {
  const json = new TextEncoder().encode(typeof header === 'string' ? header : JSON.stringify(header))
  const bytes = new Uint8Array(8 + json.length + dataBytes)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(json.length), true)
  bytes.set(json, 8)
  return bytes
}

function faultOf(bytes: Uint8Array<ArrayBuffer>): CheckpointFault {
  try {
    parseSafetensors(bytes, 'a.safetensors')
  } catch (fault) {
    expect(fault).toBeInstanceOf(CheckpointFault)
    expect((fault as Error).message).toMatch(/^a\.safetensors: /)
    return fault as CheckpointFault
  }
  throw new Error('accepted')
}

describe('writeSafetensors', () => {
  test('tensors, shapes and metadata come back as they were given', async () => {
    const file = join(folder, 'a.safetensors')
    await writeSafetensors(file, sample, { step: '3' })
    const read = await readSafetensors(file)
    expect(new Map(read.tensors)).toEqual(sample)
    expect(read.metadata).toEqual({ step: '3' })
  })

  // [TENSORS-1]
  test('the same tensors give the same bytes whatever order the map has', async () => {
    const [one, two] = [join(folder, 'one'), join(folder, 'two')]
    const digest = await writeSafetensors(one, sample, { b: '1', a: '2' })
    await writeSafetensors(two, new Map([...sample].reverse()), { a: '2', b: '1' })
    expect(await readFile(one)).toEqual(await readFile(two))
    expect(digest.size).toBe((await readFile(one)).byteLength)
  })

  test('a shape that does not fit its data is refused before anything is written', async () => {
    const file = join(folder, 'wrong')
    const tensors = new Map<string, Tensor>([
      ['x', { dtype: 'F32', shape: [2, 2], data: new Float32Array(3) }],
    ])
    await expect(writeSafetensors(file, tensors)).rejects.toThrow(
      'tensor "x" of shape [2, 2] needs 4 elements, got 3',
    )
    await expect(readFile(file)).rejects.toThrow('ENOENT')
  })

  // [TENSORS-3]
  test('files written here are read without copying', async () => {
    const file = join(folder, 'views')
    await writeSafetensors(file, sample)
    const { tensors } = await readSafetensors(file)
    expect(new Set([...tensors.values()].map(({ data }) => data.buffer)).size).toBe(1)
  })
})

describe('parseSafetensors believes nothing', () => {
  const x = (extra: object) => ({
    x: { dtype: 'F32', shape: [2], data_offsets: [0, 8], ...extra },
  })
  test.each<[string, Uint8Array<ArrayBuffer>, string]>([
    ['a file of 7 bytes', new Uint8Array(7), 'no safetensors'],
    ['a header longer than the file', new Uint8Array(8).fill(255), 'the header claims 18446744073709551615'],
    ['a header that is no JSON', fileOf('{"x":', 0), 'not JSON'],
    ['a header that is an array', fileOf([], 0), 'an array, expected an object'],
    ['metadata that is no text', fileOf({ __metadata__: { a: 1 } }, 0), '__metadata__.a is a number'],
    ['an unknown type', fileOf(x({ dtype: 'F8_E4M3' }), 8), 'dtype "F8_E4M3"'],
    ['an inherited name as type', fileOf(x({ dtype: 'toString' }), 8), 'dtype "toString"'],
    ['a negative size', fileOf(x({ shape: [-2] }), 8), 'shape [-2]'],
    ['a size beyond exact integers', fileOf(x({ shape: [2 ** 53, 0] }), 8), 'shape [9007199254740992,0]'],
    ['offsets beyond the data', fileOf(x({}), 4), 'spans bytes 0 to 8 of the data, which holds 4'],
    ['offsets in reverse', fileOf(x({ data_offsets: [8, 0] }), 8), 'spans bytes 8 to 0'],
    ['a shape that needs other bytes', fileOf(x({ shape: [3] }), 8), 'needs 12 bytes as F32, but spans 8'],
    [
      'data that no tensor claims',
      fileOf(x({}), 9),
      'tensors end at byte 8 of the data, but the file holds 9',
    ],
    ['a hole', fileOf(x({ data_offsets: [4, 12] }), 12), 'begins at byte 4 of the data, expected 0'],
    [
      'an overlap',
      fileOf({ ...x({}), y: { dtype: 'F32', shape: [1], data_offsets: [4, 8] } }, 8),
      'tensor "y" begins at byte 4 of the data, expected 8',
    ],
    [
      'a name given twice',
      fileOf(
        '{"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"x":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}',
        2,
      ),
      'begins at byte 1',
    ],
  ])('%s is refused by what is wrong', (_, bytes, message) => {
    expect(faultOf(bytes).message).toContain(message)
  })

  // [TENSORS-2]
  test('any bytes are either read or refused with a CheckpointFault', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.json(), (bytes, json) => {
        for (const input of [new Uint8Array(bytes), fileOf(json, 4)])
          try {
            parseSafetensors(input, 'a')
          } catch (fault) {
            expect(fault).toBeInstanceOf(CheckpointFault)
          }
      }),
    )
  })

  test('tensors at odd offsets, as other writers leave them, are read by copying', () => {
    const bytes = fileOf(
      {
        a: { dtype: 'U8', shape: [1], data_offsets: [0, 1] },
        x: { dtype: 'F32', shape: [1], data_offsets: [1, 5] },
      },
      5,
    )
    new DataView(bytes.buffer).setFloat32(bytes.byteLength - 4, 2.5, true)
    expect(parseSafetensors(bytes, 'a').tensors.get('x')?.data).toEqual(new Float32Array([2.5]))
  })
})

describe('asFloat32', () => {
  test('BF16 is widened exactly', () => {
    const data = new Uint16Array([0x3f80, 0xc040, 0x0000, 0x7f80])
    expect(asFloat32({ dtype: 'BF16', shape: [4], data }, 'x')).toEqual(
      new Float32Array([1, -3, 0, Infinity]),
    )
  })

  test('F16 is widened exactly, subnormals and infinities too', () => {
    const data = new Uint16Array([0x3c00, 0xc200, 0x0001, 0x7bff, 0xfc00, 0x8000, 0x03ff])
    expect(asFloat32({ dtype: 'F16', shape: [7], data }, 'x')).toEqual(
      new Float32Array([1, -3, 2 ** -24, 65504, -Infinity, -0, 1023 * 2 ** -24]),
    )
  })

  test('integers are refused', () => {
    expect(() => asFloat32({ dtype: 'I32', shape: [1], data: new Int32Array(1) }, 'm: tensor "x"')).toThrow(
      'm: tensor "x" has dtype I32',
    )
  })
})

test('a missing file is named', async () => {
  await expect(readSafetensors(join(folder, 'absent'))).rejects.toMatchObject({
    kind: 'missing',
    message: expect.stringContaining(join(folder, 'absent')),
  })
  await writeFile(join(folder, 'empty'), '')
  await expect(readSafetensors(join(folder, 'empty'))).rejects.toMatchObject({ kind: 'corrupt' })
})
