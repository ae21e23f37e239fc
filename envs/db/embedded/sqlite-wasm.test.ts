import fc from 'fast-check'
import { expect, test } from 'vitest'
import { loadWasm, WasmMemory } from './sqlite-wasm.ts'

const wasm = await loadWasm()
const memory = new WasmMemory(wasm)

test('a text comes out as it went in, zeros and byte order marks among it', () => {
  const texts = fc.string({ unit: fc.constantFrom('a', 'é', '\0', '\uFEFF', '𝄞') })
  fc.assert(
    fc.property(texts, (text) => {
      const { pointer, bytes } = memory.put(text)
      expect(memory.text(pointer, bytes)).toBe(text)
      expect(memory.textAt(pointer)).toBe(text.split('\0', 1)[0])
      memory.free(pointer)
    }),
  )
  expect(memory.textAt(0)).toBe('')
})

test('what is read is what lies there now, also after the memory has grown and moved', () => {
  const before = wasm.memory.buffer
  const { pointer, bytes } = memory.put(new Uint8Array([7, 0, 0, 0]))
  const large = memory.put(new Uint8Array(before.byteLength))
  expect(wasm.memory.buffer).not.toBe(before)
  expect(memory.pointerAt(pointer)).toBe(7)
  const copy = memory.copy(pointer, bytes)
  wasm.dealloc(large.pointer)
  wasm.dealloc(pointer)
  expect([...copy]).toEqual([7, 0, 0, 0])
})
