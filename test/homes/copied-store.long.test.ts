/** A copy of a home that is given its original's fleet: it is refused before it takes any work. */
import { cpSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { homeAt } from '../../storage/disk/home.ts'
import { type RunningTemporal, startTemporal } from '../../temporal/server/server.ts'
import { eventually, removeHome, startPerdure, temporaryHome } from '../support/perdure-process.ts'

const [serving, original, copy] = [temporaryHome(), temporaryHome(), temporaryHome()]
let server: RunningTemporal

beforeAll(async () => {
  server = await startTemporal(serving)
  vi.stubEnv('TEMPORAL_ADDRESS', server.address)
  vi.stubEnv('PERDURE_FLEET', 'lab')
})
afterAll(async () => {
  vi.unstubAllEnvs()
  await server?.close()
  for (const home of [serving, original, copy]) removeHome(home)
})

function newestNonce(home: string): unknown {
  using database = new DatabaseSync(homeAt(home).storeFile, { readOnly: true })
  return database.prepare('select max(number) as number from nonces').get()?.number
}

it('a copy of a store that works under its fleet is refused, and the original works on', async () => {
  const worker = startPerdure(original, 'worker', '--role', 'trainer')
  try {
    await eventually('the worker to serve', () => {
      expect(worker.child.exitCode, worker.output()).toBe(null)
      return worker.output().includes('Serving') ? true : undefined
    })
    const before = newestNonce(original)
    cpSync(original, copy, { recursive: true })
    await eventually('another nonce', () => (newestNonce(original) === before ? undefined : true))
    const refused = await startPerdure(copy, 'worker', '--role', 'trainer').ended
    expect(refused.code).toBe(1)
    expect(refused.stderr + refused.stdout).toMatch(
      /another store works as lab-[a-z0-9]{6}.* is a copy of it/,
    )
    const second = newestNonce(original)
    await eventually('a nonce after the refusal', () => (newestNonce(original) === second ? undefined : true))
    expect(worker.child.exitCode).toBe(null)
  } finally {
    await worker.killGroup()
  }
})
