/** A run that is killed again and again leaves its trackers as a run that never was. */
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { survivor, trainSurvivor, untilUpdate } from '../host/survivor.ts'
import { pythonWithTrackers, readBy, startMlflow } from '../peers/tracker-readers.ts'
import { type PerdureProcess, removeHome, startPerdure, temporaryHome } from '../support/perdure-process.ts'

const python = pythonWithTrackers() ?? ''
const reason = python === '' ? ' (skipped: no Python with tensorboard, mlflow, pandas and wandb)' : ''

let home: string
let perdure: PerdureProcess | undefined

beforeEach(() => {
  home = temporaryHome()
})
afterEach(async () => {
  await perdure?.killGroup()
  removeHome(home)
})

// [TRACKING-1]
it.skipIf(python === '')(
  `killed and resumed five times, a run has each step once in TensorBoard and on a server of MLflow${reason}`,
  async () => {
    const [tensorboard, mlflow] = [join(home, 'curves'), join(home, 'mlruns')]
    await using server = await startMlflow(home, python)
    perdure = trainSurvivor(home, [
      'training.updates=7',
      `trackers.tensorboard=${tensorboard}`,
      `trackers.mlflow=${mlflow}`,
    ])
    for (const update of [1, 2, 3, 4, 5]) {
      await untilUpdate(home, update)
      await perdure.killGroup()
      // From the third update on at a server, which gets those before it as well.
      const set = update === 2 ? ['--set', `trackers.mlflow=${server.url}`] : []
      perdure = startPerdure(home, 'resume', survivor, ...set)
    }
    const { code, stderr } = await perdure.ended
    expect(stderr).not.toMatch(/error/i)
    expect(code).toBe(0)
    const steps = [1, 2, 3, 4, 5, 6, 7]
    const events = await readBy('tensorboard', join(tensorboard, survivor), python)
    expect(events.entropy?.map(([step]) => step)).toEqual(steps)
    const { runs } = await readBy('mlflow', server.url, python)
    expect(runs.map(({ name, status }) => [name, status])).toEqual([[survivor, 'FINISHED']])
    expect(runs[0]?.metrics.entropy?.map(([step]) => step)).toEqual(steps)
  },
  480_000,
)
