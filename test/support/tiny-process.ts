/**
 * A run in miniature as a process that can be killed: `node test/support/tiny-process.ts start|resume HOME RUN UPDATES`.
 *
 * Invariants
 * - The last line of its standard output is the run's progress as JSON, once it has ended.
 */
import { openSession } from '../../client/session/training-session.ts'
import { createEchoTask } from './echo-task.ts'
import { createCopyingTrainer, createSpeakingEngine, sayYesOrNo, tinyConfig } from './tiny-run.ts'

const [, , order, home = '', run = '', updates] = process.argv
const { definition } = createEchoTask()
const session = await openSession({
  home,
  roles: 'all',
  log: (line) => console.error(line),
  createEngine: () => Promise.resolve(createSpeakingEngine(sayYesOrNo)),
  createTrainer: () => createCopyingTrainer(),
  findEnvironment: () => definition,
})
if (order === 'start') await session.start(run, tinyConfig({ training: { updates: Number(updates) } }))
else await session.resume(run)
const progress = await session.result(run)
await session.close()
console.log(JSON.stringify(progress))
