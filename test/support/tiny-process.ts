/**
 * A run in miniature as a process that can be killed: `node test/support/tiny-process.ts start|resume HOME RUN UPDATES [URL]`; with
 * the URL of a chat endpoint it is a synchronous run that models judge.
 *
 * Invariants
 * - The last line of its standard output is the run's progress as JSON, once it has ended.
 */
import { openSession } from '../../client/session/training-session.ts'
import { createEchoTask } from './echo-task.ts'
import { createJudgedTask, synchronousJudged } from './judged-task.ts'
import { createCopyingTrainer, createSpeakingEngine, sayYesOrNo, tinyConfig } from './tiny-run.ts'

const [, , order, home = '', run = '', updates, url] = process.argv
const definition = url === undefined ? createEchoTask().definition : createJudgedTask()
const session = await openSession({
  home,
  roles: 'all',
  log: (line) => console.error(line),
  createEngine: () => Promise.resolve(createSpeakingEngine(sayYesOrNo)),
  createTrainer: () => createCopyingTrainer(),
  findEnvironment: () => definition,
})
const training = { updates: Number(updates) }
const config = url === undefined ? tinyConfig({ training }) : synchronousJudged(url, training.updates)
if (order === 'start') await session.start(run, config)
else await session.resume(run)
const progress = await session.result(run)
await session.close()
console.log(JSON.stringify(progress))
