/** Ctrl-C in the middle of a run of real processes. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { expectWhole, survivor, trainSurvivor, untilUpdate } from '../host/survivor.ts'
import {
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

afterEach(async () => {
  await perdure?.killGroup()
  removeHome(home)
})

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
