/** The first promise of durability, with real processes: what `kill -9` of everything may and may not do to a run. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { groupId } from '../../identity/identity.ts'
import {
  expectWhole,
  inStore,
  sealedEpisodes,
  survivor,
  trainSurvivor,
  untilUpdate,
} from '../host/survivor.ts'
import { episodesOf } from '../support/open-episodes.ts'
import {
  killServer,
  type PerdureProcess,
  removeHome,
  serverPid,
  startPerdure,
  temporaryHome,
} from '../support/perdure-process.ts'

let home: string
let perdure: PerdureProcess | undefined

beforeEach(() => {
  home = temporaryHome()
})

/** Every stored action and observation of the run, also of episodes that have not ended. */
function storedTurns() {
  const groups = Array.from({ length: 100 }, (_, number) => groupId(survivor, number))
  return inStore(home, async (store) => {
    const turns = (await episodesOf(store, groups)).map(async ({ id }) => {
      const actions = (await store.actions.list(id)).map((action) => [`action ${id} ${action.turn}`, action])
      const observations = await store.observations.list(id)
      return [...actions, ...observations.map((one) => [`observation ${id} ${one.turn}`, one])] as const
    })
    return (await Promise.all(turns)).flat()
  })
}

afterEach(async () => {
  await perdure?.killGroup()
  removeHome(home)
})

// [RUN-1] [TRAIN-1] [TURNS-1]
it('after kill -9 of everything, resume finishes the run with no update done twice, no group lost, no finished episode played again and no stored turn sampled again', async () => {
  perdure = trainSurvivor(home)
  await untilUpdate(home, 2)
  const server = serverPid(home)
  expect(server).toBeDefined()
  killServer(home)
  await perdure.killGroup()
  const before = await sealedEpisodes(home)
  const turnsBefore = await storedTurns()
  expect(turnsBefore.length).toBeGreaterThan(0)
  const updatesBefore = await inStore(home, (store) => store.updates.list(survivor))
  expect(before.length).toBeGreaterThan(0)

  perdure = startPerdure(home, 'resume', survivor)
  const { code, stderr } = await perdure.ended
  expect(stderr).not.toMatch(/error/i)
  expect(code).toBe(0)
  await expectWhole(home)
  const after = new Map((await sealedEpisodes(home)).map((episode) => [episode.id, episode]))
  for (const episode of before) expect(after.get(episode.id)).toEqual(episode)
  expect(Object.fromEntries(await storedTurns())).toMatchObject(Object.fromEntries(turnsBefore))
  const updatesAfter = await inStore(home, (store) => store.updates.list(survivor))
  expect(updatesAfter.slice(0, updatesBefore.length)).toEqual(updatesBefore)
}, 240_000)
