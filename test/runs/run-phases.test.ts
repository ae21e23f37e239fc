/** Phases of a run as its store has them: a page that reads them never sees an earlier one again. */
import { afterAll, expect, it } from 'vitest'
import { openSession } from '../../client/session/training-session.ts'
import { runId } from '../../identity/identity.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { openStore } from '../../storage/store.ts'
import { createEchoTask } from '../support/echo-task.ts'
import { removeHome, temporaryHome } from '../support/perdure-process.ts'
import { createCopyingTrainer, createSpeakingEngine, sayYesOrNo, tinyConfig } from '../support/tiny-run.ts'

const home = temporaryHome()
afterAll(() => removeHome(home))

async function storedPhase(): Promise<unknown> {
  await using store = await openStore(homeAt(home).storeFile, { create: false, access: 'read' })
  return ((await store.runs.state(runId('phases'))) as { readonly phase?: unknown } | undefined)?.phase
}

it('a run without a warm start is stored as training before its first update', async () => {
  const phases: unknown[] = []
  const session = await openSession({
    home,
    roles: 'all',
    log: () => undefined,
    createEngine: () => Promise.resolve(createSpeakingEngine(sayYesOrNo)),
    createTrainer: () =>
      createCopyingTrainer(async () => {
        phases.push(await storedPhase())
      }),
    findEnvironment: () => createEchoTask().definition,
  })
  try {
    await session.start('phases', tinyConfig({ training: { updates: 2 } }))
    expect(await session.result('phases')).toMatchObject({ phase: 'done', step: 2 })
    expect(phases).toEqual(['training', 'training'])
  } finally {
    await session.close()
  }
})
