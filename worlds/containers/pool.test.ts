import { describe, expect, test } from 'vitest'
import { createPool } from './pool.ts'
import type { Container, ContainerSpec } from './sandbox.ts'

const spec: ContainerSpec = { image: 'any', user: '0' }

/** Containers that are only counted. */
function counting() {
  const made: { alive: boolean; released: boolean }[] = []
  let starting = 0
  let most = 0
  async function start(): Promise<Container> {
    starting += 1
    most = Math.max(most, starting)
    await new Promise((resolve) => setImmediate(resolve))
    starting -= 1
    const state = { alive: true, released: false }
    made.push(state)
    const container = {
      get alive() {
        return state.alive
      },
      async release() {
        state.released = true
      },
    }
    return container as unknown as Container
  }
  return { made, start, most: () => most }
}

describe('the warm pool', () => {
  // [WARM-POOL-1]
  test('a container is handed out once, and as many as are wanted are kept ready', async () => {
    const { made, start } = counting()
    const pool = createPool(start, () => undefined)
    pool.keepWarm(spec, 3)
    await pool.whenWarm()
    expect(made).toHaveLength(3)
    const taken = await Promise.all([1, 2, 3, 4, 5].map(() => pool.acquire({ ...spec })))
    expect(new Set(taken).size).toBe(5)
    await pool.whenWarm()
    expect(made.length).toBe(8)
    await pool.close()
  })

  // [WARM-POOL-1]
  test('one that has ended while it waited is never handed out', async () => {
    const { made, start } = counting()
    const pool = createPool(start, () => undefined)
    pool.keepWarm(spec, 2)
    await pool.whenWarm()
    for (const each of made) each.alive = false
    expect((await pool.acquire(spec)).alive).toBe(true)
    expect(made.slice(0, 2).map(({ released }) => released)).toEqual([true, true])
    await pool.close()
  })

  // [WARM-POOL-2]
  test('no more are started at a time than help', async () => {
    const { start, most } = counting()
    const pool = createPool(start, () => undefined)
    pool.keepWarm(spec, 20)
    await Promise.all(Array.from({ length: 20 }, () => pool.acquire(spec)))
    await pool.whenWarm()
    expect(most()).toBe(4)
    await pool.close()
  })

  // [WARM-POOL-3]
  test('after close nothing is started, and nothing that was ready is left', async () => {
    const { made, start } = counting()
    const pool = createPool(start, () => undefined)
    pool.keepWarm(spec, 6)
    await pool.close()
    expect(made.every(({ released }) => released)).toBe(true)
    await expect(pool.acquire(spec)).rejects.toMatchObject({ name: 'ContainerFault', kind: 'backend' })
  })

  test('a start that fails is reported, and what waits for a container hears it', async () => {
    const reports: string[] = []
    const pool = createPool(
      () => Promise.reject(new Error('no room')),
      (line) => reports.push(line),
    )
    pool.keepWarm(spec, 1)
    await pool.whenWarm()
    expect(reports).toEqual(['no container could be made ready: no room'])
    await expect(pool.acquire(spec)).rejects.toThrow('no room')
    await pool.close()
  })
})
