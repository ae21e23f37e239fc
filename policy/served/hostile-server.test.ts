import { once } from 'node:events'
import { expect, test } from 'vitest'
import { startHostileServer } from './hostile-server.testing.ts'

test('work that fails because its server has ended is no error of the test that ended it', async () => {
  const work = Promise.withResolvers<never>()
  const begun = Promise.withResolvers<void>()
  const unhandled: unknown[] = []
  const note = (reason: unknown) => unhandled.push(reason)
  process.on('unhandledRejection', note)
  const server = await startHostileServer(async () => {
    begun.resolve()
    return await work.promise
  })
  const call = fetch(server.url, { method: 'POST', body: '{}' }).catch((thrown: unknown) => thrown)
  await begun.promise

  await server.close()
  // At once: the connection is destroyed by now, and its response has not heard of it.
  work.reject(new Error('the engine is closed'))
  expect(await call).toBeInstanceOf(TypeError)
  // An unhandled rejection is reported after the microtasks of its turn.
  await once(AbortSignal.timeout(0), 'abort')

  process.off('unhandledRejection', note)
  expect(unhandled).toEqual([])
})
