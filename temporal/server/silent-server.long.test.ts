/** A server that is slow to answer is waited for; one that hangs is started again. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it, vi } from 'vitest'
import { freeze } from '../../test/host/frozen-process.ts'
import { hungAfterMs } from './health.ts'
import { inspectTemporal, startTemporal } from './server.ts'

const home = mkdtempSync(join(tmpdir(), 'perdure-silent-server-'))
afterAll(() => rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }))

/** Longer than one look at the server takes, and less than what counts as hung. */
const frozenMs = 5_000

it('a server that is frozen for a while is waited for, not ended', async () => {
  const first = await startTemporal(home)
  try {
    const { pid } = first
    await freeze(pid)
    setTimeout(() => process.kill(pid, 'SIGCONT'), frozenMs)
    const second = await startTemporal(home)
    expect(second).toMatchObject({ pid, reused: true })
    await second.close()
  } finally {
    await first.close()
  }
})

it('a server that hangs is reported within seconds, and started again once, on the same ports', async () => {
  const said: string[] = []
  const users = [await startTemporal(home, { log: (line) => said.push(line) }), await startTemporal(home)]
  try {
    const { pid: hung = 0, address } = users[0] ?? {}
    await freeze(hung)
    expect(await inspectTemporal(home)).toMatchObject({
      running: false,
      silence: expect.stringContaining(
        `(process ${hung}) does not answer; processes that use it start it again`,
      ),
    })
    await expect(startTemporal(home, { restartsHung: false })).rejects.toMatchObject({ kind: 'unreachable' })
    await vi.waitFor(
      () => {
        for (const { pid } of users) expect(pid).not.toBe(hung)
      },
      { timeout: 4 * hungAfterMs, interval: 200 },
    )
    expect(users.map(({ restarts }) => restarts).sort()).toEqual([0, 1])
    expect(new Set(users.map(({ pid }) => pid)).size).toBe(1)
    const later = await startTemporal(home)
    expect(later).toMatchObject({ address, reused: true })
    await later.close()
    expect(said.join('\n')).toMatch(/does not answer since 5 s; after 30 s.*hangs: .*starting it again/s)
  } finally {
    for (const user of users) await user.close()
  }
}, 300_000)
