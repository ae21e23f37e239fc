/** A run that is trained by a module of the user's own, and the module against the contract of trainers. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { checkLearning } from '../../client/checks/start-check.ts'
import { openSession } from '../../client/session/training-session.ts'
import { checkTrainer } from '../../client/trainer-check/trainer-check.ts'
import { configSchema } from '../../config/schema/schema.ts'
import { runId } from '../../identity/identity.ts'
import { createEchoTask } from '../support/echo-task.ts'
import { removeHome, temporaryHome } from '../support/perdure-process.ts'
import { createSpeakingEngine, sayYesOrNo, tinyConfig } from '../support/tiny-run.ts'

const home = temporaryHome()
afterAll(() => removeHome(home))

const asked = join(home, 'asked')
const trainer = join(home, 'trainer.ts')
writeFileSync(
  trainer,
  `import { appendFileSync } from 'node:fs'
import type { TrainerDefinition } from 'perdure'

/** Writes down what it is asked, and trains by the embedded trainer. */
export const trainer: TrainerDefinition = {
  name: 'noting',
  openTrainer: async ({ embedded }) => ({
    losses: async () => ['clipped', 'cispo', 'gspo', 'dgg', 'epo', 'distillation', 'turn_ppo'],
    async update(request, onProgress, signal) {
      appendFileSync(${JSON.stringify(asked)}, \`\${request.version}\\n\`)
      return embedded.update(request, onProgress, signal)
    },
  }),
}
`,
)

test('a run learns by a trainer that its configuration names', async () => {
  const { definition } = createEchoTask()
  await using session = await openSession({
    home,
    roles: 'all',
    log: () => undefined,
    createEngine: () => Promise.resolve(createSpeakingEngine(sayYesOrNo)),
    findEnvironment: () => definition,
  })
  const run = runId('own')
  await session.start(run, tinyConfig({ policy: { trainer } }))
  expect(await session.result(run)).toMatchObject({ phase: 'done', step: 3, version: 3 })
  expect(readFileSync(asked, 'utf8').trim().split('\n')).toEqual(['1', '2', '3'])
}, 120_000)

test('a module is checked against the contract, item by item', async () => {
  const checks = await checkTrainer({ trainer, stallMs: 300_000 })
  expect(checks.filter(({ ok }) => !ok)).toEqual([])
  expect(checks.length).toBeGreaterThan(15)
}, 600_000)

test('a module that is no trainer is refused before a run starts, by its key', async () => {
  const other = join(home, 'other.ts')
  writeFileSync(other, 'export const trainer = { name: "x", openTrainer: 7 }')
  await expect(checkLearning(configSchema.parse({ policy: { trainer: other } }))).rejects.toThrow(
    /policy\.trainer.*the trainer `trainer` of .*other\.ts is incomplete/,
  )
})
