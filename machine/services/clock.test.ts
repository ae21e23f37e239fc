import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { simulatedClock } from './clock.testing.ts'
import { clock, deadlineSignal, withClock } from './clock.ts'

/** Adds the time whenever one of three timers is due. */
async function play(times: number[]): Promise<void> {
  const timer = clock.every(40, () => times.push(clock.now()))
  clock.after(50, () => times.push(clock.now())).unref()
  await clock.sleep(100)
  timer.cancel()
  times.push(clock.now())
}

// [CLOCK-1]
it('two pieces of work in one process have two clocks, and so has all that they begin', async () => {
  const [early, late] = [simulatedClock(1000), simulatedClock(5000)]
  const [ofEarly, ofLate]: [number[], number[]] = [[], []]
  const plays = [withClock(early, () => play(ofEarly)), withClock(late, () => play(ofLate))]
  await early.advance(60)
  await late.advance(200)
  await early.advance(40)
  await Promise.all(plays)
  expect(ofEarly).toEqual([1040, 1050, 1080, 1100])
  expect(ofLate).toEqual([5040, 5050, 5080, 5100])
  expect(Math.abs(clock.now() - Date.now())).toBeLessThan(1000)
})

it('a signal ends a wait with its reason, and a deadline aborts a signal', async () => {
  const simulated = simulatedClock()
  const ending = new AbortController()
  const [wait, late] = withClock(simulated, () => [clock.sleep(100, ending), deadlineSignal(10)] as const)
  ending.abort(new RangeError('enough'))
  await expect(wait).rejects.toThrow('enough')
  await simulated.advance(9)
  expect(late.aborted).toBe(false)
  await simulated.advance(1)
  expect(late.reason).toMatchObject({ name: 'TimeoutError' })
})

it("the system's clock waits, calls and is cancelled", async () => {
  const calls: string[] = []
  clock.after(0, () => calls.push('cancelled')).cancel()
  const beats = clock.every(1, () => calls.push('beat'))
  const since = clock.monotonic()
  while (calls.length < 2) await clock.sleep(1)
  beats.cancel()
  const seen = calls.length
  await setImmediate()
  expect(calls.slice(0, seen)).toEqual(calls.map(() => 'beat'))
  expect(clock.monotonic()).toBeGreaterThan(since)
  await expect(clock.sleep(1000, { signal: AbortSignal.abort() })).rejects.toMatchObject({
    name: 'AbortError',
  })
})
