/** The weight of the divergence from the warm-started policy, changed of a run that trains with the real trainer. */
import { afterAll, expect, it } from 'vitest'
import { openSession } from '../../client/session/training-session.ts'
import { createTrainer } from '../../policy/trainer/embedded.ts'
import { createEchoTask } from '../support/echo-task.ts'
import { eventually, removeHome, temporaryHome } from '../support/perdure-process.ts'
import { createGate, createSpeakingEngine, type Gate, sayYesOrNo, tinyConfig } from '../support/tiny-run.ts'

const home = temporaryHome()
afterAll(() => removeHome(home))

it('klCoefficient goes from 0 to 0.01 and back while the run trains, and each update has the reference it needs', async () => {
  const gates: readonly Gate[] = [createGate(), createGate(), createGate()]
  const weights: number[] = []
  const references: boolean[] = []
  const { definition } = createEchoTask()
  const session = await openSession({
    home,
    roles: 'all',
    log: () => undefined,
    createEngine: () => Promise.resolve(createSpeakingEngine(sayYesOrNo)),
    createTrainer: ({ threads }) => {
      const trainer = createTrainer({ threads })
      const train = trainer.update.bind(trainer)
      trainer.update = async (request, onProgress) => {
        const { objective, referenceCheckpointDir } = request
        weights.push(objective.kind === 'policy' ? objective.klCoefficient : Number.NaN)
        references.push(referenceCheckpointDir !== undefined)
        await gates[weights.length - 1]?.passed
        return train(request, onProgress)
      }
      return trainer
    },
    findEnvironment: () => definition,
  })
  try {
    await session.start('kl', tinyConfig({ learning: { klCoefficient: 0 } }))
    for (const [update, klCoefficient] of [0.01, 0].entries()) {
      await eventually(`update ${update + 1}`, () => weights.length === update + 1 || undefined)
      await session.change('kl', { 'learning.klCoefficient': klCoefficient })
      gates[update]?.open()
    }
    gates[2]?.open()
    expect(await session.result('kl')).toMatchObject({ phase: 'done', step: 3, version: 3 })
    expect(weights).toEqual([0, 0.01, 0])
    expect(references).toEqual([false, true, false])
  } finally {
    for (const gate of gates) gate.open()
    await session.close()
  }
}, 600_000)
