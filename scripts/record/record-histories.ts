/**
 * Records one history of each workflow, and one of an agent's episode, for the release in `package.json`, into `test/histories/RELEASE/`, where the
 * tests replay them with the workflows as they are: `node scripts/record/record-histories.ts [HOME]`. They are those of a
 * home's server, or of a run in miniature that has received every kind of message.
 *
 * Invariants
 * - Nothing in a history tells who recorded it, or where.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import { z } from 'zod'
import { openSession } from '../../client/session/training-session.ts'
import { configSchema } from '../../config/schema/schema.ts'
import { episodeId, groupId, runId } from '../../identity/identity.ts'
import { evenAnswer, twoTurns, writeProgram } from '../../test/support/agent-programs.ts'
import { createEchoTask } from '../../test/support/echo-task.ts'
import { type Execution, fetchHistories } from '../../test/support/executions.ts'
import { eventually } from '../../test/support/perdure-process.ts'
import { tinyExperiment } from '../../test/support/tiny-experiment.ts'
import {
  createCopyingTrainer,
  createSpeakingEngine,
  sayYesOrNo,
  tinyConfig,
} from '../../test/support/tiny-run.ts'

const packageSchema = z.object({ version: z.string() })

/** A run whose episodes an agent's own program plays. */
const agents = runId('agents')

/** A run that is paused, continued, changed, rolled back, evaluated and branched; an experiment; and a run of agents. */
async function playEverything(home: string): Promise<void> {
  const run = runId('recorded')
  const { definition } = createEchoTask()
  const session = await openSession({
    home,
    roles: 'all',
    by: 'recorder',
    log: console.error,
    createEngine: () => Promise.resolve(createSpeakingEngine(sayYesOrNo)),
    createTrainer: () => createCopyingTrainer(),
    findEnvironment: (name) => (name === evenAnswer.name ? evenAnswer : definition),
  })
  try {
    const suites = [{ name: 'few', task: 'echo', episodes: 2 }]
    const config = tinyConfig({ training: { updates: 8 }, evaluation: { every: 4, suites } })
    await session.start(run, config)
    await eventually('the second update', async () => (await session.progress(run)).step >= 2 || undefined)
    await session.pause(run, { reason: 'to be recorded' })
    await session.change(run, { 'learning.learningRate': 1e-3 })
    await session.checkpoint(run)
    await session.evaluateNow(run)
    await session.rollBack(run, 1)
    await session.continue(run)
    await session.schedule(run, { timing: { every: '1s' }, episodes: 1 })
    await session.result(run)
    await session.branch(episodeId(groupId(run, 0), 1, 0), { turn: 1, samples: 2 })
    await eventually('the schedule to fire', async () => (await session.schedules(run))[0]?.last)
    await session.deleteSchedule(run, 'few')
    await session.beginExperiment(tinyExperiment('recorded', { seeds: [1, 2] }), { parallel: 1 })
    await session.experimentResult('recorded')
    const agent = { command: writeProgram(home, 'agent', twoTurns), reward: 'file' }
    const tasks = [{ task: evenAnswer.name, agent }]
    await session.start(agents, configSchema.parse({ ...tinyConfig({ training: { updates: 1 } }), tasks }))
    await session.result(agents)
  } finally {
    await session.close()
  }
}

/** The name of its file, in the way that types are called: episodes of agents have one of their own. */
function kindOf({ type, workflowId }: Execution): string {
  return type === 'episode' && workflowId.startsWith(`${agents}/`) ? 'agentEpisode' : type
}

/** The longest history of each kind. */
function longest(executions: readonly Execution[]): ReadonlyMap<string, Execution> {
  const found = new Map<string, Execution>()
  const length = (execution: Execution | undefined) => execution?.history.events?.length ?? 0
  for (const execution of executions)
    if (length(execution) > length(found.get(kindOf(execution)))) found.set(kindOf(execution), execution)
  return found
}

/** In one line, without the identities of workers and clients, which also name their queues. */
function textOf({ history }: Execution): string {
  const text = JSON.stringify(JSON.parse(historyToJSON(history)))
  const identities = new Set([...text.matchAll(/"identity":"([^"]+)"/g)].map(([, identity = '']) => identity))
  return [...identities].reduce((clean, identity) => clean.replaceAll(identity, 'recorder'), text)
}

const [given] = process.argv.slice(2)
const home = given ?? mkdtempSync(join(tmpdir(), 'perdure-record-'))
const { version } = packageSchema.parse(
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')),
)
const folder = new URL(`../../test/histories/${version}/`, import.meta.url)
if (given === undefined) await playEverything(home)
mkdirSync(folder, { recursive: true })
for (const [kind, execution] of longest(await fetchHistories(home))) {
  const name = kind.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  writeFileSync(new URL(`${name}.json`, folder), `${textOf(execution)}\n`)
  console.log(`${version}/${name}.json: ${execution.workflowId}`)
}
if (given === undefined) rmSync(home, { recursive: true, force: true })
