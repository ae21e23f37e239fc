/**
 * The first promise of durability, with real processes: what `kill -9` of everything may and may not do to a run, also
 * where its home lies elsewhere afterwards.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, it } from 'vitest'
import { groupId, runId } from '../../identity/identity.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { readMetrics } from '../../storage/metrics/metrics.testing.ts'
import { isUpdateMetrics } from '../../storage/metrics/metrics.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { episodesOf } from '../support/open-episodes.ts'
import { eventually, killServer, removeHome, serverPid, temporaryHome } from '../support/perdure-process.ts'

const run = runId('survivor')
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

/** Every stored action, observation and seal of the run, also of episodes that have not ended. */
async function stored(store: Store): Promise<Record<string, unknown>> {
  const groups = Array.from({ length: 100 }, (_, number) => groupId(run, number))
  const marks = (await episodesOf(store, groups)).map(async ({ id, seal }) => [
    ...(seal === undefined ? [] : [[`episode ${id}`, seal] as const]),
    ...(await store.actions.list(id)).map((action) => [`action ${id} ${action.turn}`, action] as const),
    ...(await store.observations.list(id)).map((one) => [`observation ${id} ${one.turn}`, one] as const),
  ])
  return Object.fromEntries((await Promise.all(marks)).flat())
}

// [RUN-1] [TRAIN-1] [TURNS-1]
it('after kill -9 of everything a copied home continues with the original gone, with no update done twice, no group lost, no finished episode played again and no stored turn sampled again', async () => {
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
  const [updatesBefore, before] = [await store.updates.list(run), await stored(store)]
  expect(updatesBefore.length).toBeLessThan(updates)
  expect(Object.keys(before)).toContainEqual(expect.stringMatching(/^action/))

  const resumed = begin('resume', copy)
  const [said, complaints] = await Promise.all([text(resumed.stdout), text(resumed.stderr)])
  expect(complaints).not.toMatch(/error/i)
  expect(JSON.parse(said)).toMatchObject({ phase: 'done', step: updates })
  const done = await store.updates.list(run)
  expect(done.slice(0, updatesBefore.length)).toEqual(updatesBefore)
  expect(done.map(({ step }) => step)).toEqual(Array.from({ length: updates }, (_, i) => i + 1))
  const consumed = done.flatMap(({ groups }) => groups)
  expect(new Set(consumed).size).toBe(consumed.length)
  const groups = await store.groups.list(run, { consumed: true })
  expect(groups.map(({ id }) => id).toSorted()).toEqual(consumed.toSorted())
  expect(await stored(store)).toMatchObject(before)
  expect(readMetrics(homeAt(copy).run(run).metricsFile).filter(isUpdateMetrics)).toHaveLength(updates)
  expect(existsSync(original)).toBe(false)
  expect(serverPid(copy)).toBeUndefined()
}, 300_000)
