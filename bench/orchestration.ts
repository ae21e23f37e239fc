/**
 * The cost of durable orchestration: turns per second, and CPU per turn, for both dispatch modes.
 *
 * Invariants
 * - Episodes are the project's own workflow with its own activities, store, environment, tokenizer and
 *   server on a SQLite file; only the policy answers at once, so that nothing else is waited for.
 * - Every episode must end at its turn limit, else the benchmark fails.
 * - The cost of durability beyond the commits is a figure of its own: the wait for the disk before an activity reports, beside the
 *   commit that it follows. Activities that end together share it.
 * - The reference of a rate is what its own CPU time per turn would allow on all cores; the ratio tells
 *   how much of the machine the rate had.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, Connection } from '@temporalio/client'
import { createOpenRuns } from '../activities/stored/open-runs.ts'
import { collectDemonstrations } from '../activities/warm-start/demonstrations.ts'
import { firstCheckpoint } from '../activities/warm-start/first-checkpoint.ts'
import { configSchema } from '../config/schema/schema.ts'
import { taskQueue } from '../contract/task-queues.ts'
import { episodeId, groupId, ownServer, runId } from '../identity/identity.ts'
import { openChat } from '../policy/chat/chat.ts'
import { createScriptedEngine } from '../policy/engines/scripted.testing.ts'
import { createHome, createRunDirectory } from '../storage/disk/home.ts'
import { openStore } from '../storage/store.ts'
import type { StoredAction } from '../storage/trajectories/actions.ts'
import { embeddedConnection } from '../temporal/connection.ts'
import { startTemporal } from '../temporal/server/server.ts'
import { startRoleWorkers } from '../workers/role-workers.ts'
import type { episode } from '../workflows/play/episode.ts'
import { episodeRules } from '../workflows/play/evaluation-plan.ts'
import { type Figure, quantile } from './figure.ts'
import { cpuSecondsOf } from './measured/cpu-time.ts'

const concurrentEpisodes = 128
const turns = 20
const warmUpEpisodes = 24
const dispatchModes = ['server', 'local'] as const
type Dispatch = (typeof dispatchModes)[number]

const run = runId('orchestration')
const config = configSchema.parse({
  tasks: [{ task: 'alfworld', turnLimit: turns }],
  // The prompt of a game, and twenty short turns.
  policy: {
    contextLength: 8192,
    hiddenSize: 32,
    heads: 2,
    keyValueHeads: 2,
    layers: 1,
    intermediateSize: 64,
  },
})

/** Where episodes play. */
const queues = {
  server: taskQueue('environment', ownServer),
  local: taskQueue('orchestrator', ownServer),
} as const

/** CPU milliseconds of the two processes. */
interface CpuTime {
  readonly worker: number
  readonly temporal: number
}

/** Runs both modes on one server, one after the other. */
export async function bench(): Promise<Figure[]> {
  const directory = await mkdtemp(join(tmpdir(), 'perdure-bench-'))
  const server = await startTemporal(directory, { log: (line) => console.error(line) })
  const connection = embeddedConnection(server)
  try {
    const action = await prepareRun(directory)
    const workers = await startRoleWorkers({
      connection,
      homeName: ownServer,
      home: directory,
      roles: ['orchestrator', 'environment', 'policy'],
      log: (line) => console.error(line),
      createEngine: () => Promise.resolve(createScriptedEngine(() => action)),
    })
    const clientConnection = await Connection.connect({ address: server.address })
    const client = new Client({ connection: clientConnection })
    const figures: Figure[] = []
    try {
      for (const [index, dispatch] of dispatchModes.entries()) {
        console.error(`${dispatch}: ${concurrentEpisodes} episodes of ${turns} turns`)
        await playEpisodes(client, dispatch, 2 * index, warmUpEpisodes)
        figures.push(...(await measure(client, dispatch, 2 * index + 1, server.pid)))
      }
    } finally {
      await workers.close()
      await clientConnection.close()
    }
    return [...figures, await measureFlush(directory)]
  } finally {
    await server.close()
    await rm(directory, { recursive: true, force: true })
  }
}

/** Commits whose flush is measured. */
const flushes = 300

/** The wait for the disk after a commit of a turn's size, beside the commit itself; medians. */
async function measureFlush(directory: string): Promise<Figure> {
  await using store = await openStore(createHome(directory).storeFile)
  const tokens = Int32Array.from({ length: 64 }, (_, index) => index)
  const action: Omit<StoredAction, 'episode' | 'turn'> = {
    prompt: tokens,
    tokens,
    logprobs: new Float32Array(tokens.length),
    version: 0,
    finish: 'stop',
    message: { role: 'assistant', content: '' },
    problems: [],
  }
  const [commits, waits]: [number[], number[]] = [[], []]
  for (let turn = 0; turn < flushes; turn++) {
    const begun = performance.now()
    await store.actions.put({ ...action, episode: episodeId(groupId(run, 0), 0, 0), turn: 1_000 + turn })
    const committed = performance.now()
    await store.flushed()
    commits.push(committed - begun)
    waits.push(performance.now() - committed)
  }
  const [commit, flush] = [quantile(commits, 0.5), quantile(waits, 0.5)]
  return { name: 'flush ms', value: flush, unit: 'ms', reference: commit, ratio: flush / commit }
}

/** Stores a run with a published policy. @returns the tokens of the action that is always taken */
async function prepareRun(directory: string): Promise<readonly number[]> {
  const home = createHome(directory)
  await using store = await openStore(home.storeFile)
  await store.runs.insert({ id: run, config, created: Date.now() })
  createRunDirectory(home, run)
  const runs = createOpenRuns({ home, store })
  try {
    const open = await runs.get(run)
    const checkpoint = open.directory.checkpointDir(0)
    await firstCheckpoint(
      checkpoint,
      config,
      await collectDemonstrations(open, 16, () => undefined, new AbortController().signal),
      () => undefined,
    )
    await store.runs.publish(run, { version: 0, state: {} })
    const chat = await openChat(checkpoint)
    const look = { name: 'take_action', arguments: { action: 'look' } }
    return [...chat.encodeAssistant({ role: 'assistant', content: '', tool_calls: [look] })]
  } finally {
    await runs.close()
  }
}

async function measure(client: Client, dispatch: Dispatch, group: number, pid: number): Promise<Figure[]> {
  const before = await cpuTime(pid)
  const started = performance.now()
  await playEpisodes(client, dispatch, group, concurrentEpisodes)
  const seconds = (performance.now() - started) / 1000
  const after = await cpuTime(pid)
  const played = concurrentEpisodes * turns
  const worker = (after.worker - before.worker) / played
  const temporal = (after.temporal - before.temporal) / played
  const cpu = worker + temporal
  const rate = played / seconds
  const limit = (availableParallelism() * 1000) / cpu
  return [
    { name: `${dispatch} turns/s`, value: rate, unit: 'turns/s', reference: limit, ratio: rate / limit },
    { name: `${dispatch} cpu ms/turn`, value: cpu, unit: 'ms/turn' },
    { name: `${dispatch} worker cpu ms/turn`, value: worker, unit: 'ms/turn' },
    { name: `${dispatch} temporal cpu ms/turn`, value: temporal, unit: 'ms/turn' },
  ]
}

async function playEpisodes(client: Client, dispatch: Dispatch, group: number, count: number): Promise<void> {
  const rules = { ...episodeRules(run, config, 0), dispatch }
  const results = Array.from({ length: count }, async (_, sample) => {
    const id = episodeId(groupId(run, group), sample, 1)
    const handle = await client.workflow.start<typeof episode>('episode', {
      workflowId: id,
      taskQueue: queues[dispatch],
      args: [
        {
          ...rules,
          episode: id,
          split: 'train',
          position: sample,
          versions: { kind: 'fixed', version: 0 },
          temperature: config.rollout.temperature,
        },
      ],
    })
    return await handle.result()
  })
  for (const { episode, outcome, turns: played } of await Promise.all(results))
    if (outcome !== 'turn_limit' || played !== turns)
      throw new Error(`${episode} ended with ${outcome} after ${played} of ${turns} turns`)
}

/** CPU time so far of this process, where the workers are, and of the server. */
async function cpuTime(pid: number): Promise<CpuTime> {
  const { user, system } = process.cpuUsage()
  return { worker: (user + system) / 1000, temporal: 1000 * (await cpuSecondsOf(pid)) }
}
