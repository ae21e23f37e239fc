/** What else may happen to a run of real processes: its server killed, Ctrl-C. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  killServer,
  type PerdureProcess,
  removeHome,
  serverPid,
  startPerdure,
  temporaryHome,
} from './perdure-process.ts'
import { expectWhole, survivor, trainSurvivor, untilUpdate } from './survivor.ts'

let home: string
let perdure: PerdureProcess | undefined

beforeEach(() => {
  home = temporaryHome()
})

afterEach(async () => {
  await perdure?.killGroup()
  removeHome(home)
})

it('after kill -9 of the Temporal server alone, the run continues by itself', async () => {
  perdure = trainSurvivor(home)
  await untilUpdate(home, 2)
  const killed = serverPid(home)
  killServer(home)
  const { code } = await perdure.ended
  expect(code).toBe(0)
  expect(serverPid(home)).not.toBe(killed)
  await expectWhole(home)
}, 240_000)

it('an interrupted run ends cleanly with exit code 130, says how to continue, and continues', async () => {
  perdure = trainSurvivor(home)
  await untilUpdate(home, 1)
  perdure.child.kill('SIGINT')
  const interrupted = await perdure.ended
  expect(interrupted).toMatchObject({ code: 130 })
  expect(interrupted.stdout + interrupted.stderr).toContain(`perdure resume ${survivor}`)
  expect(serverPid(home)).toBeUndefined()
  perdure = startPerdure(home, 'resume', survivor)
  expect((await perdure.ended).code).toBe(0)
  await expectWhole(home)
}, 240_000)
