/**
 * A home of 100,000 episodes, and what `perdure ui` costs that shows it, in a process of its own: for a test and a benchmark.
 *
 * Invariants
 * - Every home is the same: what is drawn comes from one seed.
 * - The process is the command, with an index of its own; nothing of it is left behind.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cpuSecondsOf, residentMegabytesOf } from '../bench/measured/cpu-time.ts'
import { episodeId, groupId, uniforms } from '../identity/identity.ts'
import { builtPage } from '../scripts/build-page.ts'
import { findTemporalBinary } from '../temporal/server/startup/binary.ts'
import { eventually, startPerdureIn } from '../test/support/perdure-process.ts'
import { type Answers, episodesRoute, homeRoute, runsRoute, trajectoryRoute } from './contract/routes.ts'
import { addEpisode, addRun, type FilledHome } from './filled-home.testing.ts'

export const manyEpisodes = 100_000
const atOnce = 256
const tasks = ['alfworld', 'db', 'kg', 'os']
const places = ['shelf', 'drawer', 'cabinet', 'fridge', 'sofa', 'desk', 'safe', 'sink']

/** Two runs with half of the episodes each. */
export async function fillWithMany(home: FilledHome): Promise<void> {
  const draw = uniforms(1)
  for (const name of ['first', 'second']) {
    const run = await addRun(home, name)
    for (let begin = 0; begin < manyEpisodes / 2; begin += atOnce)
      await Promise.all(
        Array.from({ length: Math.min(atOnce, manyEpisodes / 2 - begin) }, (_, offset) => {
          const number = begin + offset
          const place = places[Math.floor(draw() * places.length)]
          return addEpisode(home, {
            id: episodeId(groupId(run, number >> 3), number & 7, 0),
            task: tasks[number % tasks.length] ?? '',
            instance: `train/${number >> 3}`,
            won: draw() < 0.4,
            version: Math.floor(number / 1000),
            created: 1_000_000 + 100 * number,
            text: `You are in the middle of a room. Looking around, you see a ${place} ${number % 20}. Put a soapbar in it.`,
            words: Array.from({ length: 1 + Math.floor(draw() * 4) }, (_, turn) => `go to ${place} ${turn}`),
          })
        }),
      )
  }
}

/** A server of the page, in a process of its own. */
export interface ShowingProcess extends AsyncDisposable {
  readonly url: string
  readonly pid: number
}

/** `perdure ui` at a home, with an empty cache of its own. */
export async function startShowing(dir: string): Promise<ShowingProcess> {
  const cache = mkdtempSync(join(tmpdir(), 'perdure-shown-'))
  mkdirSync(join(cache, 'perdure'))
  // Built beforehand, so that the command has nothing to do but to serve it.
  await builtPage()
  const temporal = await findTemporalBinary(() => undefined)
  const env = {
    XDG_CACHE_HOME: cache,
    ...(temporal === undefined ? {} : { PERDURE_TEMPORAL_CLI: temporal.path }),
  }
  const ui = startPerdureIn(env, dir, 'ui', '--json', '--port', '0')
  async function end(): Promise<void> {
    // As a person ends it: it stops the server that it has started, and leaves one that a run uses.
    ui.child.kill('SIGINT')
    await ui.ended
    rmSync(cache, { recursive: true, force: true })
  }
  try {
    const url = await eventually('the address of the page', () => {
      const [, found] = /"url":"([^"]+)"/.exec(ui.output()) ?? []
      return found
    })
    return { url, pid: ui.child.pid ?? 0, [Symbol.asyncDispose]: end }
  } catch (error) {
    await end()
    throw error
  }
}

/** The cost of one question. */
interface Asked {
  readonly route: string
  /** Until the answer was there. */
  readonly ms: number
  /** The server's processor time: where nothing else runs, one waits no longer than that. */
  readonly cpuMs: number
}

export interface ShowingCosts {
  readonly firstView: Asked
  /** Until all words could be searched. */
  readonly indexingSeconds: number
  readonly filters: readonly Asked[]
  readonly trajectories: readonly Asked[]
  /** Resident, after all of them. */
  readonly megabytes: number
}

const filters = [
  '',
  'task:kg',
  'is:won',
  'reward<1 turns>=3',
  'version:20',
  'run:second -task:db',
  'shelf',
  'soapbar',
  '"go to drawer"',
  'fri',
  'instance:train/77',
  'group:first/g500',
  'is:lost "cabinet 7"',
  'update:3',
]
const sorts = ['created', 'reward', 'turns', 'task', 'instance', 'version'] as const

/** Opens what a person opens, searches in every order, reads a hundred trajectories. */
export async function costsOf({ url, pid }: Pick<ShowingProcess, 'url' | 'pid'>): Promise<ShowingCosts> {
  async function asked(route: string): Promise<Asked & { readonly answer: unknown }> {
    const [cpu, since] = [await cpuSecondsOf(pid), performance.now()]
    const response = await fetch(url + route)
    const answer: unknown = await response.json()
    if (!response.ok) throw new Error(`${route}: ${JSON.stringify(answer)}`)
    const ms = performance.now() - since
    return { route, ms, cpuMs: ((await cpuSecondsOf(pid)) - cpu) * 1000, answer }
  }
  const firstView = await asked(runsRoute())
  const since = performance.now()
  await eventually(
    'the words of all episodes',
    async () => {
      const { search } = (await asked(homeRoute())).answer as Answers['home']
      return search.episodes === manyEpisodes && search.indexed === manyEpisodes ? true : undefined
    },
    600_000,
  )
  const indexingSeconds = (performance.now() - since) / 1000
  const found: Asked[] = []
  for (const filter of filters)
    for (const sort of sorts)
      for (const offset of [0, 40_000]) found.push(await asked(episodesRoute({ filter, sort, offset })))
  const trajectories: Asked[] = []
  const draw = uniforms(2)
  for (let n = 0; n < 100; n++) {
    const number = Math.floor((draw() * manyEpisodes) / 2)
    trajectories.push(await asked(trajectoryRoute(`first/g${number >> 3}/s${number & 7}/a0`)))
  }
  return {
    firstView,
    indexingSeconds,
    filters: found,
    trajectories,
    megabytes: await residentMegabytesOf(pid),
  }
}
