import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, expect, it } from 'vitest'
import type { HomeName } from '../identity/identity.ts'
import { openStore, type Store } from '../storage/store.ts'
import { type Claim, type ClaimRegister, claimName } from './store-claim.ts'

const folder = mkdtempSync(join(tmpdir(), 'perdure-claim-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The nonce that the server keeps. */
let note: string | undefined
const register: ClaimRegister = {
  read: async () => note,
  write: async (nonce) => {
    note = nonce
  },
}
beforeEach(() => {
  note = undefined
})

function claim(store: Store, everyMs = 3_600_000): Promise<Claim> {
  const { nonces, file } = store
  return claimName({ nonces, register, file, name: 'lab-p3xk0a' as HomeName, log: () => undefined, everyMs })
}

it('[CLAIM-2] processes of one store work under one name, side by side and one after another', async () => {
  await using store = await openStore(join(folder, 'shared.db'))
  await using first = await claim(store)
  await using second = await claim(store)
  expect([first, second]).toHaveLength(2)
  await using _ = await claim(store)
})

it('[CLAIM-1] a copy of a store is refused once its original has worked after it was made, and the original goes on', async () => {
  const [original, copy] = [join(folder, 'original.db'), join(folder, 'copy.db')]
  {
    await using store = await openStore(original)
    await using _ = await claim(store)
  }
  copyFileSync(original, copy)
  await using store = await openStore(original)
  await using _ = await claim(store)
  await using copied = await openStore(copy)
  await expect(claim(copied)).rejects.toMatchObject({
    kind: 'copied_store',
    message: expect.stringMatching(/lab-p3xk0a .*copy\.db is a copy.*PERDURE_FLEET/),
  })
  await using again = await claim(store)
  expect(again).toBeDefined()
})

it('a process learns that another store has claimed its name meanwhile', async () => {
  await using store = await openStore(join(folder, 'claimed.db'))
  await using held = await claim(store, 1)
  note = 'of another store'
  await expect(held.lost).rejects.toMatchObject({ kind: 'copied_store' })
})

it('only the newest nonces are kept', async () => {
  await using store = await openStore(join(folder, 'many.db'))
  for (let number = 0; number < 1100; number++) await store.nonces.add(`n${number}`, number)
  expect(await store.nonces.has('n50')).toBe(false)
  expect(await store.nonces.has('n100')).toBe(true)
})
