/** Two sessions in one process, each with a clock and a chance of its own. */
import { afterAll, expect, it } from 'vitest'
import { runId } from '../../identity/identity.ts'
import { systemChance, withChance } from '../../machine/services/chance.ts'
import { type Clock, systemClock, withClock } from '../../machine/services/clock.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { openStore } from '../../storage/store.ts'
import { createEchoTask } from '../support/echo-task.ts'
import { removeHome, temporaryHome } from '../support/perdure-process.ts'
import { openTinySession, tinyConfig } from '../support/tiny-run.ts'

const run = runId('clocked')
const homes = [temporaryHome(), temporaryHome()] as const
const year = 365 * 86_400_000

afterAll(() => homes.forEach(removeHome))

/** The system's clock, so many years ahead. */
function ahead(years: number): Clock {
  return { ...systemClock, now: () => Date.now() + years * year }
}

/** Trains in a home. @returns how many years ahead each stored time is, and how many names were drawn */
async function trainedIn(home: string, years: number) {
  let drawn = 0
  const counted = {
    ...systemChance,
    uuid: () => `00000000-0000-4000-8000-${String(++drawn).padStart(10, '0')}${years}0`,
  }
  return withChance(counted, () =>
    withClock(ahead(years), async () => {
      await using session = await openTinySession(home, createEchoTask().definition)
      await session.start(run, tinyConfig({ training: { updates: 1 } }))
      await session.result(run)
      await using store = await openStore(homeAt(home).storeFile)
      const record = await store.runs.get(run)
      const groups = await store.groups.list(run)
      const episodes = (await Promise.all(groups.map(({ id }) => store.episodes.list(id)))).flat()
      const lines = await store.metrics.list(run)
      const times = [
        ...[record?.created, record?.ended, ...groups.map(({ created }) => created)],
        ...episodes.flatMap(({ created, seal }) => [created, seal?.ended]),
        ...lines.map(({ time }) => Date.parse(String(time))),
      ]
      return { years: new Set(times.map((time) => Math.round((Number(time) - Date.now()) / year))), drawn }
    }),
  )
}

// [CLOCK-1] [CHANCE-1]
it('the workers and the activities of a session use the clock and the chance that it was opened with', async () => {
  const [one, two] = await Promise.all([trainedIn(homes[0], 1), trainedIn(homes[1], 2)])
  expect([...one.years]).toEqual([1])
  expect([...two.years]).toEqual([2])
  expect(one.drawn).toBeGreaterThan(0)
  expect(two.drawn).toBeGreaterThan(0)
}, 120_000)
