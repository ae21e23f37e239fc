/** A home directory that was copied: the run continues in the copy, wherever it lies. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, it } from 'vitest'
import { runId } from '../../identity/identity.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { readMetrics } from '../../storage/metrics/metrics.testing.ts'
import { isUpdateMetrics } from '../../storage/metrics/metrics.ts'
import { openStore } from '../../storage/store.ts'
import { eventually, killServer, removeHome, serverPid, temporaryHome } from '../support/perdure-process.ts'

const run = runId('mover')
const updates = 12
const original = temporaryHome()
const elsewhere = temporaryHome()
const copy = join(elsewhere, 'copied', 'home')
const program = fileURLToPath(new URL('../support/tiny-process.ts', import.meta.url))
let child: ChildProcess | undefined

afterEach(async () => {
  if (child?.exitCode === null && child.signalCode === null) {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  for (const home of [original, copy, elsewhere]) removeHome(home)
})

function begin(order: 'start' | 'resume', home: string) {
  const started = spawn(process.execPath, [program, order, home, run, String(updates)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child = started
  return started
}

it('after kill -9 a copied home continues where the original stood, with the original gone', async () => {
  const killed = begin('start', original)
  await eventually('the second update', async () => {
    const { storeFile } = homeAt(original)
    if (!existsSync(storeFile)) return undefined
    await using store = await openStore(storeFile, { create: false })
    return ((await store.updates.latest(run))?.step ?? 0) >= 2 ? true : undefined
  })
  killServer(original)
  killed.kill('SIGKILL')
  await once(killed, 'exit')
  cpSync(original, copy, { recursive: true })
  removeHome(original)
  await using store = await openStore(homeAt(copy).storeFile, { create: false })
  const before = await store.updates.list(run)
  expect(before.length).toBeLessThan(updates)

  const resumed = begin('resume', copy)
  const [said, complaints] = await Promise.all([text(resumed.stdout), text(resumed.stderr)])
  expect(complaints).not.toMatch(/error/i)
  expect(JSON.parse(said)).toMatchObject({ phase: 'done', step: updates })
  const done = await store.updates.list(run)
  expect(done.slice(0, before.length)).toEqual(before)
  expect(done.map(({ step }) => step)).toEqual(Array.from({ length: updates }, (_, i) => i + 1))
  const consumed = done.flatMap(({ groups }) => groups)
  expect(new Set(consumed).size).toBe(consumed.length)
  expect(readMetrics(homeAt(copy).run(run).metricsFile).filter(isUpdateMetrics)).toHaveLength(updates)
  expect(existsSync(original)).toBe(false)
  expect(serverPid(copy)).toBeUndefined()
}, 300_000)
