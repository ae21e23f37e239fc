import { createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { simulatedClock } from '../../machine/services/clock.testing.ts'
import { withClock } from '../../machine/services/clock.ts'
import { createSilenceMeter, hungAfterMs, silentAfterMs, watchHealth } from './health.ts'

/** Ticks of a process that runs: twice a second from a time on. */
function* ticks(from: number, seconds: number): Generator<number> {
  for (let now = from; now <= from + 1000 * seconds; now += 500) yield now
}

describe('silence', () => {
  it('is the time without an answer', () => {
    const meter = createSilenceMeter()
    for (const now of ticks(0, 12)) meter.tick(now)
    expect(meter.silentMs()).toBe(12_000)
    meter.answered()
    expect(meter.silentMs()).toBe(0)
    for (const now of ticks(12_500, 3)) meter.tick(now)
    expect(meter.silentMs()).toBe(3_500)
  })

  it('restarts for a process that was stopped itself, as on a laptop that slept for an hour', () => {
    const meter = createSilenceMeter()
    for (const now of ticks(0, 29)) meter.tick(now)
    for (const now of ticks(3_600_000, 4)) meter.tick(now)
    expect(meter.silentMs()).toBe(4_000)
  })

  it('continues where a busy machine calls late', () => {
    const meter = createSilenceMeter()
    for (let now = 0; now <= hungAfterMs; now += 2_500) meter.tick(now)
    expect(meter.silentMs()).toBe(hungAfterMs)
  })

  it('is never that of a clock which was set back', () => {
    const meter = createSilenceMeter()
    for (const now of [10_000, 10_500, 500, 1_000]) meter.tick(now)
    expect(meter.silentMs()).toBe(500)
  })
})

describe('a server that accepts connections and answers nothing', () => {
  const mute = createServer()
  afterEach(() => mute.close())

  it('is silent, and that is reported once', async () => {
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve))
    const reports: string[] = []
    const { port } = mute.address() as AddressInfo
    const clock = simulatedClock()
    const health = withClock(clock, () =>
      watchHealth(
        { address: `127.0.0.1:${port}` },
        { log: (line) => reports.push(line), remedy: 'it is being restarted' },
      ),
    )
    await clock.advance(silentAfterMs)
    expect(reports).toEqual([])
    await clock.advance(2_000)
    expect(health.silentMs()).toBeGreaterThan(silentAfterMs + 1_000)
    expect(health.hasAnswered()).toBe(false)
    await health.close()
    expect(reports).toEqual(['The Temporal server does not answer since 5 s; it is being restarted.'])
  })
})
