import { expect, test } from 'vitest'
import { simulatedClock } from '../../machine/services/clock.testing.ts'
import { withClock } from '../../machine/services/clock.ts'
import { EnvironmentFault } from '../contract/environment.ts'
import type { LineProcess } from './line-process.ts'
import { createProcessPool } from './process-pool.ts'

/** A pool whose processes start when the test says so. */
function heldPool(startLimit: number) {
  const starts: (() => void)[] = []
  const ended: LineProcess[] = []
  const pool = createProcessPool(async () => {
    await new Promise<void>((resolve) => starts.push(resolve))
    const process: LineProcess = {
      name: 'held',
      alive: true,
      request: () => Promise.reject(new Error('nothing is asked here')),
      end: async () => void ended.push(process),
    }
    return process
  }, startLimit)
  return { pool, starts, ended }
}

/** Lets everything run that waits for nothing else. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

// [PROCESS-POOL-2]
test('only so many processes start at once, and a session that waits gets one that is given back', async () => {
  const { pool, starts } = heldPool(2)
  const first = pool.borrow()
  const second = pool.borrow()
  const third = pool.borrow()
  await settled()
  expect(starts).toHaveLength(2)
  starts[0]?.()
  const process = await first
  await settled()
  expect(starts).toHaveLength(3)
  const fourth = pool.borrow()
  await pool.giveBack(process)
  expect(await fourth).toBe(process)
  for (const go of starts) go()
  expect(new Set([process, await second, await third]).size).toBe(3)
  await pool.close()
})

// [PROCESS-POOL-1]
test('a pool that closes ends every process, and no session waits on', async () => {
  const { pool, starts, ended } = heldPool(1)
  const outcomes = [pool.borrow(), pool.borrow(), pool.borrow()].map((session) =>
    session.catch((fault: unknown) => fault),
  )
  await settled()
  await pool.close()
  for (const go of starts) go()
  expect(await Promise.all(outcomes)).toEqual([1, 2, 3].map(() => expect.any(EnvironmentFault)))
  expect(ended).toHaveLength(1)
})

// [PROCESS-POOL-3]
test('a process that no session has used for a minute is ended, and one that is lent is not', async () => {
  const clock = simulatedClock()
  await withClock(clock, async () => {
    const { pool, starts, ended } = heldPool(2)
    const lent = [pool.borrow(), pool.borrow()]
    await settled()
    for (const go of starts) go()
    const [first, second] = await Promise.all(lent)
    if (first === undefined || second === undefined) throw new Error('two processes were borrowed')
    await pool.giveBack(first)
    await clock.advance(59_000)
    expect(await pool.borrow()).toBe(first)
    await clock.advance(60_000)
    expect(ended).toEqual([])
    await pool.giveBack(first)
    await clock.advance(60_000)
    expect(ended).toEqual([first])
    await pool.close()
    expect(ended).toEqual([first, second])
  })
})
