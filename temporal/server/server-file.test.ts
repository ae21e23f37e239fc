import { afterEach, expect, it, vi } from 'vitest'
import { flushRegularly } from './server-file.ts'

afterEach(() => {
  vi.useRealTimers()
})

// [FLUSHING-1]
it("the log of the server's file is flushed every second until it is closed, and at once when asked for", async () => {
  vi.useFakeTimers()
  const flush = vi.fn(async () => undefined)
  const flushing = flushRegularly('temporal.db', () => undefined, flush)
  await flushing.flushed()
  expect(flush).toHaveBeenCalledTimes(1)
  await vi.advanceTimersByTimeAsync(3_000)
  expect(flush).toHaveBeenCalledTimes(4)
  flushing.close()
  await vi.advanceTimersByTimeAsync(3_000)
  expect(flush).toHaveBeenCalledTimes(4)
})

it('a disk that fails is reported once', async () => {
  vi.useFakeTimers()
  const log: string[] = []
  const flushing = flushRegularly(
    'temporal.db',
    (line) => log.push(line),
    () => Promise.reject(new Error('EIO')),
  )
  await vi.advanceTimersByTimeAsync(5_000)
  flushing.close()
  expect(log).toEqual(['temporal.db cannot be written to the disk: EIO'])
})
