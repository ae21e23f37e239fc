/** The first promise of durability, with real processes: what `kill -9` of everything may and may not do to a run. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  killServer,
  type PerdureProcess,
  removeHome,
  serverPid,
  startPerdure,
  temporaryHome,
} from './perdure-process.ts'
import { expectWhole, inStore, sealedEpisodes, survivor, trainSurvivor, untilUpdate } from './survivor.ts'

let home: string
let perdure: PerdureProcess | undefined

beforeEach(() => {
  home = temporaryHome()
})

afterEach(async () => {
  await perdure?.killGroup()
  removeHome(home)
})

// [RUN-1] [TRAIN-1]
it('after kill -9 of everything, resume finishes the run with no update done twice, no group lost and no finished episode played again', async () => {
  perdure = trainSurvivor(home)
  await untilUpdate(home, 2)
  const server = serverPid(home)
  expect(server).toBeDefined()
  killServer(home)
  await perdure.killGroup()
  const before = await sealedEpisodes(home)
  const updatesBefore = await inStore(home, (store) => store.updates.list(survivor))
  expect(before.length).toBeGreaterThan(0)

  perdure = startPerdure(home, 'resume', survivor)
  const { code, stderr } = await perdure.ended
  expect(stderr).not.toMatch(/error/i)
  expect(code).toBe(0)
  await expectWhole(home)
  const after = new Map((await sealedEpisodes(home)).map((episode) => [episode.id, episode]))
  for (const episode of before) expect(after.get(episode.id)).toEqual(episode)
  const updatesAfter = await inStore(home, (store) => store.updates.list(survivor))
  expect(updatesAfter.slice(0, updatesBefore.length)).toEqual(updatesBefore)
}, 240_000)
