/** The stack of a running workflow, asked for through the real server: kept only where somebody wants it. */
import { Client, Connection } from '@temporalio/client'
import { afterEach, expect, it, vi } from 'vitest'
import { connect } from '../src/workers/connection.ts'
import { openSession } from '../src/workers/training-session.ts'
import { createEchoTask } from './echo-task.ts'
import { RunGates, untilProgress } from './held-runs.ts'
import { removeHome, temporaryHome } from './perdure-process.ts'
import { createCopyingTrainer, createSpeakingEngine, sayYesOrNo, tinyConfig } from './tiny-run.ts'

afterEach(() => vi.unstubAllEnvs())

/** What a run that waits for its first turns answers when it is asked for its stack. */
async function stackOfWaitingRun(): Promise<string> {
  const home = temporaryHome()
  const gates = new RunGates()
  const { definition } = createEchoTask()
  try {
    const session = await openSession({
      home,
      roles: 'all',
      log: () => undefined,
      createEngine: () =>
        Promise.resolve(
          createSpeakingEngine(async (request) => {
            await gates.pass(request.cacheKey)
            return sayYesOrNo(request)
          }),
        ),
      createTrainer: () => createCopyingTrainer(),
      findEnvironment: () => definition,
    })
    const gate = gates.hold('asked')
    try {
      await session.start('asked', tinyConfig({ training: { updates: 1 } }))
      await untilProgress(session, 'asked', ({ phase }) => phase === 'training')
      const answer = await askForStack(home, 'asked')
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

async function askForStack(home: string, workflow: string): Promise<string> {
  const { options, namespace, close } = await connect(home)
  const connection = await Connection.connect(options ?? {})
  try {
    return await new Client({ connection, namespace }).workflow.getHandle(workflow).query('__stack_trace')
  } finally {
    await connection.close()
    await close()
  }
}

it('a workflow that is asked for its stack says that stacks are not kept', async () => {
  await expect(stackOfWaitingRun()).rejects.toThrow(/stack traces are not enabled/)
}, 120_000)

it('with PERDURE_CALL_STACKS a workflow answers with the line on which it waits', async () => {
  vi.stubEnv('PERDURE_CALL_STACKS', '1')
  expect(await stackOfWaitingRun()).toMatch(/training-run\.ts:\d+/)
}, 120_000)
