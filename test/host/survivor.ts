/**
 * The smoke run as a process that tests kill or interrupt, and what must hold of it whatever was done to it.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { runId } from '../../identity/identity.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { readMetrics } from '../../storage/metrics/metrics.testing.ts'
import { isUpdateMetrics } from '../../storage/metrics/metrics.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { eventually, type PerdureProcess, startPerdure } from '../support/perdure-process.ts'

export const survivor = runId('survivor')
const updates = 5

/** @param settings `key=value` texts, beside those that every survivor has */
export function trainSurvivor(home: string, settings: readonly string[] = []): PerdureProcess {
  const set = [`training.updates=${updates}`, 'evaluation.suites=[]', ...settings].flatMap((each) => [
    '--set',
    each,
  ])
  return startPerdure(home, 'train', 'test/support/whole-pipeline.yaml', '--run', survivor, ...set)
}

/** Opens the store once the run has made it, reads from it and closes it. */
async function inStore<T>(home: string, read: (store: Store) => Promise<T>): Promise<T> {
  await using store = await openStore(homeAt(home).storeFile, { create: false })
  return await read(store)
}

/** Waits for an update, with episodes of the next ones in flight. */
export async function untilUpdate(home: string, step: number): Promise<void> {
  await eventually(`update ${step}`, async () => {
    if (!existsSync(join(home, 'store.db'))) return undefined
    const latest = await inStore(home, (store) => store.updates.latest(survivor))
    return (latest?.step ?? 0) >= step ? true : undefined
  })
}

/** Every update once, every group once, every trajectory as it was sealed. */
export async function expectWhole(home: string): Promise<void> {
  await inStore(home, async (store) => {
    const done = await store.updates.list(survivor)
    expect(done.map(({ step }) => step)).toEqual(Array.from({ length: updates }, (_, i) => i + 1))
    const groups = await store.groups.list(survivor, { consumed: true })
    const consumed = done.flatMap((update) => update.groups)
    expect(new Set(consumed).size).toBe(consumed.length)
    expect(groups.map(({ id }) => id).toSorted()).toEqual(consumed.toSorted())
    for (const { result } of groups)
      for (const episode of result?.episodes ?? []) {
        const { seal } = (await store.episodes.trajectory(episode)).episode
        expect(seal.outcome).not.toBe('infrastructure_error')
      }
  })
  const steps = readMetrics(homeAt(home).run(survivor).metricsFile).filter(isUpdateMetrics)
  expect(steps.map(({ step }) => step)).toEqual(Array.from({ length: updates }, (_, i) => i + 1))
}
