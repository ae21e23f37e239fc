/** Work that fails again and again: who looks at the run reads why, what cannot succeed ends, and removed folders are made again. */
import { existsSync, rmSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { openSession, type TrainingSession } from '../../client/session/training-session.ts'
import { runId } from '../../identity/identity.ts'
import { TrainerFault, type UpdateRequest } from '../../policy/trainer/trainer.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { createEchoTask } from '../support/echo-task.ts'
import { removeHome, temporaryHome } from '../support/perdure-process.ts'
import {
  createCopyingTrainer,
  createGate,
  createSpeakingEngine,
  saying,
  sayYesOrNo,
  tinyConfig,
} from '../support/tiny-run.ts'

const home = temporaryHome()
afterAll(() => removeHome(home))
const { definition } = createEchoTask()

/** A session whose trainer does something before each update. */
function open(
  beforeUpdate: (request: UpdateRequest) => Promise<void>,
  log: (line: string) => void = () => undefined,
): Promise<TrainingSession> {
  return openSession({
    ...{ home, roles: 'all', log },
    createEngine: () => Promise.resolve(createSpeakingEngine(sayYesOrNo)),
    createTrainer: () => createCopyingTrainer(beforeUpdate),
    findEnvironment: () => definition,
  })
}

const config = tinyConfig({ training: { updates: 2 } })

describe('an update that fails', () => {
  it('[RESULT-2] is in the progress with its reason from the second attempt on, until it succeeds', async () => {
    const gate = createGate()
    const log: string[] = []
    let attempts = 0
    await using session = await open(
      async () => {
        attempts += 1
        if (attempts < 3) throw new TrainerFault('storage', `the disk of the trainer is away (${attempts})`)
        await gate.passed
      },
      (line) => log.push(line),
    )
    await session.start('waits', config)
    const reason = 'the disk of the trainer is away (2)'
    await expect
      .poll(async () => (await session.progress('waits')).failing, { timeout: 60_000 })
      .toEqual([{ work: 'updatePolicy', attempt: 2, reason }])
    expect(log).toContainEqual(
      expect.stringContaining(`waits: the update failed in attempt 2 and is tried again: ${reason}`),
    )
    gate.open()
    const ended = await session.result('waits')
    expect(ended).toMatchObject({ phase: 'done', step: 2 })
    expect((await session.progress('waits')).failing).toBeUndefined()
  }, 120_000)

  it('in the same words twice, because of a rule, ends the run with the reason', async () => {
    let attempts = 0
    await using session = await open(async () => {
      attempts += 1
      throw new TrainerFault('bad_answer', 'the checkpoint that the trainer wrote has another tokenizer.json')
    })
    await session.start('breaks', config)
    await expect(session.result('breaks')).rejects.toThrow(/run breaks failed: .*another tokenizer\.json/)
    expect(attempts).toBe(2)
  }, 120_000)
})

it('a run whose trainer cannot be started fails with its words, also where it would never have had anything to learn', async () => {
  await using session = await openSession({
    ...{ home, roles: 'all', log: () => undefined },
    createEngine: () => Promise.resolve(createSpeakingEngine(() => saying('no'))),
    findEnvironment: () => definition,
  })
  const trainer = [process.execPath, '-e', 'console.error("No module named torch"); process.exit(1)']
  await session.start('untrained', tinyConfig({ policy: { trainer }, training: { updates: 1 } }))
  await expect(session.result('untrained')).rejects.toThrow(/run untrained failed: .*No module named torch/)
}, 120_000)

it('folders of a run and of logs that were removed are made again', async () => {
  const { logsDir, run } = homeAt(home)
  const { batchesDir } = run(runId('cleared'))
  await using session = await open(async ({ version }) => {
    if (version !== 1) return
    rmSync(batchesDir, { recursive: true })
    rmSync(logsDir, { recursive: true })
  })
  await session.start('cleared', config)
  expect(await session.result('cleared')).toMatchObject({ phase: 'done', step: 2 })
  expect(existsSync(batchesDir)).toBe(true)
}, 120_000)
