/**
 * A run of 100,000 episodes with an instant policy: what grows, and whether it slows down.
 *
 * Invariants
 * - Workflows, activities, store, environment, server and trainer are those of every run; only the policy answers at
 *   once, so that as many episodes as possible pass through them.
 * - Everything is read once per update, at its end.
 * - Start and end are the means of the first and the last tenth of the updates, the very first one left out.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSession, type TrainingSession } from '../client/session/training-session.ts'
import { configSchema, type RunConfig } from '../config/schema/schema.ts'
import { runId } from '../identity/identity.ts'
import { type Chat, openChat } from '../policy/chat/chat.ts'
import { createScriptedEngine } from '../policy/engines/scripted.testing.ts'
import { createHome, type Home } from '../storage/disk/home.ts'
import { inspectTemporal } from '../temporal/server/server.ts'
import { openClient } from '../test/support/executions.ts'
import type { Figure } from './figure.ts'
import { cpuSecondsOf, residentMegabytesOf } from './measured/cpu-time.ts'

const run = runId('long-run')
const turns = 2
const groupSize = 8
const groupsPerUpdate = 32
const episodesPerUpdate = groupSize * groupsPerUpdate
const defaultEpisodes = 100_000
const poll = 200

/** The end of an update. */
interface Reading {
  readonly step: number
  readonly seconds: number
  readonly cpu: { readonly process: number; readonly server: number }
  readonly resident: { readonly process: number; readonly server: number }
  /** Events of the run's history since it last continued as new. */
  readonly history: number
}

/**
 * Runs the benchmark; half an hour to an hour on two cores.
 * @param options `--episodes N`, `--readings FILE` (a JSON line per update)
 */
export async function bench(options: {
  readonly episodes?: number
  readonly readings?: string
}): Promise<Figure[]> {
  const updates = Math.ceil((options.episodes ?? defaultEpisodes) / episodesPerUpdate)
  const directory = await mkdtemp(join(tmpdir(), 'perdure-bench-'))
  const home = createHome(directory)
  try {
    let chat: Promise<Chat> | undefined
    const session = await openSession({
      home: directory,
      roles: 'all',
      log: (line) => console.error(line),
      createEngine: () =>
        Promise.resolve(
          createScriptedEngine(async () => {
            chat ??= openChat(home.run(run).checkpointDir(0))
            return [...(await chat).encodeAssistant(looking)]
          }),
        ),
    })
    try {
      await session.start(run, configOf(updates))
      const readings = await watch(session, home)
      if (options.readings !== undefined)
        await writeFile(options.readings, readings.map((each) => `${JSON.stringify(each)}\n`).join(''))
      return figures(readings)
    } finally {
      await session.close()
    }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

const looking = {
  role: 'assistant',
  content: '',
  tool_calls: [{ name: 'take_action', arguments: { action: 'look' } }],
} as const

function configOf(updates: number): RunConfig {
  return configSchema.parse({
    tasks: [{ task: 'alfworld', turnLimit: turns, settings: { difficulty: 'easy' } }],
    rollout: { groupSize, groupsPerUpdate, refill: 0 },
    policy: {
      hiddenSize: 16,
      heads: 2,
      keyValueHeads: 2,
      layers: 1,
      intermediateSize: 32,
      vocabularySize: 400,
    },
    warmStart: { demonstrations: 0 },
    training: { updates },
    evaluation: { every: 0, suites: [] },
  })
}

async function watch(session: TrainingSession, home: Home): Promise<readonly Reading[]> {
  const server = (await inspectTemporal(home.dir))?.record.pid
  if (server === undefined) throw new Error('the embedded server does not run')
  const { client, close } = await openClient(home.dir)
  const started = performance.now()
  const readings: Reading[] = []
  let history = 0
  try {
    for (;;) {
      const progress = await session.progress(run)
      if (progress.phase === 'failed') throw new Error(`the run failed: ${progress.message}`)
      const { historyLength } = await client.workflow.getHandle(run).describe()
      history = Math.max(history, historyLength)
      if (progress.step > (readings.at(-1)?.step ?? 0)) {
        const { user, system } = process.cpuUsage()
        const reading: Reading = {
          step: progress.step,
          seconds: (performance.now() - started) / 1000,
          cpu: { process: (user + system) / 1e6, server: await cpuSecondsOf(server) },
          resident: { process: process.memoryUsage.rss() / 1e6, server: await residentMegabytesOf(server) },
          history,
        }
        history = 0
        readings.push(reading)
        console.error(lineOf(reading, readings.at(-2)))
      }
      if (progress.phase === 'done') return readings
      await new Promise((resolve) => setTimeout(resolve, poll))
    }
  } finally {
    await close()
  }
}

function lineOf({ step, seconds, resident, history }: Reading, before: Reading | undefined): string {
  const played = (step - (before?.step ?? 0)) * episodesPerUpdate * turns
  const rate = played / (seconds - (before?.seconds ?? 0))
  return `update ${step}, ${step * episodesPerUpdate} episodes: ${rate.toFixed(0)} turns/s, process ${resident.process.toFixed(0)} MB, server ${resident.server.toFixed(0)} MB, history ${history} events`
}

function figures(readings: readonly Reading[]): Figure[] {
  const tenth = Math.max(1, Math.floor(readings.length / 10))
  const start = readings.slice(0, tenth + 1)
  const end = readings.slice(-tenth - 1)
  const compared = (name: string, unit: string, of: (part: readonly Reading[]) => number): Figure[] => {
    const [reference, value] = [of(start), of(end)]
    return [
      { name: `${name} at the start`, value: reference, unit },
      { name: `${name} at the end`, value, unit, reference, ratio: value / reference },
    ]
  }
  const middle = readings.slice(0, Math.ceil(readings.length / 2))
  const most = (part: readonly Reading[], which: 'process' | 'server'): number =>
    Math.max(...part.map(({ resident }) => resident[which]))
  const levels = (['process', 'server'] as const).map((which): Figure => {
    const [reference, value] = [most(middle, which), most(readings, which)]
    return {
      name: `largest ${which}, beside that of the first half`,
      value,
      unit: 'MB',
      reference,
      ratio: value / reference,
    }
  })
  return [
    { name: 'episodes', value: (readings.at(-1)?.step ?? 0) * episodesPerUpdate, unit: 'episodes' },
    {
      name: 'longest history of the run',
      value: Math.max(...readings.map(({ history }) => history)),
      unit: 'events',
    },
    ...compared('turns/s', 'turns/s', rateOf),
    ...compared('cpu', 'ms/turn', cpuOf),
    ...levels,
  ]
}

/** Turns per second between the first and the last reading. */
function rateOf(part: readonly Reading[]): number {
  return playedIn(part) / spanOf(part, ({ seconds }) => seconds)
}

/** CPU milliseconds per turn, of the process and the server together. */
function cpuOf(part: readonly Reading[]): number {
  return (1000 * spanOf(part, ({ cpu }) => cpu.process + cpu.server)) / playedIn(part)
}

function playedIn(part: readonly Reading[]): number {
  return spanOf(part, ({ step }) => step) * episodesPerUpdate * turns
}

function spanOf(part: readonly Reading[], of: (reading: Reading) => number): number {
  const [first, last] = [part[0], part.at(-1)]
  return first === undefined || last === undefined ? Number.NaN : of(last) - of(first)
}
