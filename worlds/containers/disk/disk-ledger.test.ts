import { describe, expect, test } from 'vitest'
import { DiskLedger } from './disk-ledger.ts'

const limit = { bytes: 1_000, names: 100 }
const room = (bytes: number, names = 1_000) => ({ bytes, names })

function opened(...containers: readonly string[]): DiskLedger<string> {
  const ledger = new DiskLedger<string>()
  ledger.read(room(100_000))
  for (const name of containers) ledger.open(name, limit)
  return ledger
}

describe('the ledger of a disk', () => {
  test('while the disk has grown by less than the limit, and would in one more step, no one is suspect', () => {
    const ledger = opened('a')
    ledger.read(room(99_500))
    // 500 grown, and 500 may have come since.
    expect(ledger.isSuspect('a')).toBe(false)
    ledger.read(room(99_499))
    expect(ledger.isSuspect('a')).toBe(false)
    ledger.read(room(98_998))
    expect(ledger.isSuspect('a')).toBe(true)
  })

  test('names are limited as bytes are', () => {
    const ledger = opened('a')
    ledger.read(room(100_000, 949))
    expect(ledger.isSuspect('a')).toBe(true)
  })

  test('what is freed takes nothing off what was written', () => {
    const ledger = opened('a')
    for (let round = 0; round < 6; round++) {
      ledger.read(room(99_800))
      ledger.read(room(100_000))
    }
    expect(ledger.isSuspect('a')).toBe(true)
  })

  test('what a count has found in one container is no growth of the others', () => {
    const ledger = opened('a', 'b')
    ledger.read(room(98_000))
    ledger.read(room(98_000))
    expect([ledger.isSuspect('a'), ledger.isSuspect('b')]).toEqual([true, true])
    expect(ledger.count('a', { bytes: 1_900, names: 3 })).toBe(true)
    expect(ledger.isSuspect('b')).toBe(false)
  })

  test('a container that was counted is suspect again when it may have passed what was left to it', () => {
    const ledger = opened('a')
    ledger.read(room(98_000))
    ledger.read(room(98_000))
    expect(ledger.count('a', { bytes: 900, names: 3 })).toBe(false)
    expect(ledger.isSuspect('a')).toBe(false)
    ledger.read(room(97_900))
    expect(ledger.isSuspect('a')).toBe(true)
  })

  test('exactly the limit is within it', () => {
    const ledger = opened('a')
    expect(ledger.count('a', limit)).toBe(false)
    expect(ledger.count('a', { ...limit, names: 101 })).toBe(true)
  })
})
