/** The stack of a running workflow, asked for through the real server: kept only where it is asked for. */
import { afterEach, expect, it, vi } from 'vitest'
import { openSession } from '../../client/session/training-session.ts'
import { createEchoTask } from '../support/echo-task.ts'
import { withClient } from '../support/executions.ts'
import { createHeldEngine, RunGates, untilProgress } from '../support/held-runs.ts'
import { removeHome, temporaryHome } from '../support/perdure-process.ts'
import { createCopyingTrainer, tinyConfig } from '../support/tiny-run.ts'

afterEach(() => vi.unstubAllEnvs())

/** The stack that a run reports while it waits for its first turns. */
async function stackOfWaitingRun(): Promise<string> {
  const home = temporaryHome()
  const gates = new RunGates()
  const { definition } = createEchoTask()
  try {
    const session = await openSession({
      home,
      roles: 'all',
      log: () => undefined,
      createEngine: () => Promise.resolve(createHeldEngine(gates)),
      createTrainer: () => createCopyingTrainer(),
      findEnvironment: () => definition,
    })
    const gate = gates.hold('asked')
    try {
      await session.start('asked', tinyConfig({ training: { updates: 1 } }))
      await untilProgress(session, 'asked', ({ phase }) => phase === 'training')
      const answer = await withClient(home, ({ workflow }) =>
        workflow.getHandle('asked').query<string>('__stack_trace'),
      )
      gate.open()
      await session.result('asked')
      return answer
    } finally {
      gate.open()
      await session.close()
    }
  } finally {
    removeHome(home)
  }
}

it('a workflow that is asked for its stack says that stacks are not kept', async () => {
  await expect(stackOfWaitingRun()).rejects.toThrow(/stack traces are not enabled/)
}, 120_000)

it('with PERDURE_CALL_STACKS a workflow answers with the line on which it waits', async () => {
  vi.stubEnv('PERDURE_CALL_STACKS', '1')
  expect(await stackOfWaitingRun()).toMatch(/training-run\.ts:\d+/)
}, 120_000)
