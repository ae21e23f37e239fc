/**
 * A whole run of both halves: a server samples, the PyTorch trainer trains on two ranks, and each part is killed once.
 *
 * Invariants
 * - `perdure train` and `perdure resume` made the results, as a user calls them.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type RunId, yieldsToTraining } from '../../identity/identity.ts'
import { createTrainer } from '../../policy/trainer/embedded.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { openStore, type Store } from '../../storage/store.ts'
import type { StoredAction } from '../../storage/trajectories/actions.ts'
import { eventually, type PerdureProcess, startPerdureIn } from '../support/perdure-process.ts'
import { rankMark, ranksOf } from './ranks.ts'
import { trainerFolder } from './torch.ts'

/** A server that versions are sampled from. */
export interface SamplingServer {
  readonly url: string
  /** Ends it at once; what it has loaded is gone. */
  kill(): Promise<void>
}

export interface ForeignRun {
  readonly home: string
  readonly run: RunId
  /** A Python with PyTorch. */
  readonly python: string
  /** Part of the configuration, beside the keys that make the run foreign. */
  readonly config: object
  /** Called again, on the same address, after the server was killed. */
  readonly start: () => Promise<SamplingServer>
  /** Longest wait for an update. */
  readonly updateMs: number
}

/** Outcome of a run. */
export interface ForeignEnding {
  readonly code: number | null
  readonly stderr: string
  /** Optimizer steps of its updates, in their order. */
  readonly steps: readonly number[]
  /** The turns of each episode. */
  readonly episodes: readonly (readonly StoredAction[])[]
}

/** Trains; kills a rank and the server after an update, the trainer's process after the next, then the worker; resumes. */
export async function trainThroughKills(of: ForeignRun): Promise<ForeignEnding> {
  const { home, run, python, config } = of
  const file = join(home, 'foreign.json')
  const trainer = [
    '-m',
    'torch.distributed.run',
    '--standalone',
    '--nproc-per-node',
    '2',
    '-m',
    'perdure_trainer',
  ]
  let server = await of.start()
  const env = { PYTHONPATH: trainerFolder, [rankMark]: home }
  let perdure: PerdureProcess | undefined
  try {
    writeFileSync(file, JSON.stringify(withParts(config, [python, ...trainer], server.url)))
    perdure = startPerdureIn(env, home, 'train', file, '--run', run)
    await untilStep(of, 1, perdure)
    await signalRank(home, ({ pid }) => pid)
    await server.kill()
    server = await of.start()
    await untilStep(of, 2, perdure)
    await signalRank(home, ({ launcher }) => launcher)
    await untilStep(of, 3, perdure)
    await perdure.killGroup()
    perdure = startPerdureIn(env, home, 'resume', run)
    const { code, stderr } = await perdure.ended
    await using store = await openStore(homeAt(home).storeFile, { create: false })
    return { code, stderr, ...(await storedOf(store, of)) }
  } finally {
    await perdure?.killGroup()
    await server.kill()
  }
}

function withParts(config: object, trainer: readonly string[], engineUrl: string): object {
  const { policy, ...others } = config as { readonly policy: object }
  return {
    ...others,
    policy: { ...policy, engine: 'vllm', engineUrl, trainer },
    warmStart: { demonstrations: 0 },
  }
}

async function untilStep(
  { home, run, updateMs }: ForeignRun,
  step: number,
  perdure: PerdureProcess,
): Promise<void> {
  const look = async () => {
    if (perdure.child.exitCode !== null)
      throw new Error(`it ended before update ${step}:\n${perdure.output()}`)
    if (!existsSync(homeAt(home).storeFile)) return undefined
    await using store = await openStore(homeAt(home).storeFile, { create: false })
    return ((await store.updates.latest(run))?.step ?? 0) >= step ? true : undefined
  }
  await eventually(`update ${step}`, look, updateMs)
}

/** `kill -9` of the second rank, or of what started it, once it is there. */
async function signalRank(
  home: string,
  of: (rank: ReturnType<typeof ranksOf>[number]) => number,
): Promise<void> {
  const second = await eventually('a second rank', () => ranksOf(home).find(({ rank }) => rank === 1))
  process.kill(of(second), 'SIGKILL')
}

async function storedOf(
  store: Store,
  { run }: ForeignRun,
): Promise<Pick<ForeignEnding, 'steps' | 'episodes'>> {
  const ids = (await store.episodes.page(run, '', 10_000))
    .map(({ id }) => id)
    .filter((id) => !yieldsToTraining(id))
  return {
    steps: (await store.updates.list(run)).map(({ step }) => step),
    episodes: await Promise.all(ids.map((id) => store.actions.list(id))),
  }
}

/** Difference of the server's logprobs from the weights of each turn's version: mean over tokens, and the largest. */
export async function samplerDifference(
  { home, run }: Pick<ForeignRun, 'home' | 'run'>,
  { episodes }: Pick<ForeignEnding, 'episodes'>,
  temperature: number,
): Promise<{ readonly mean: number; readonly largest: number; readonly tokens: number }> {
  const trainer = createTrainer({ threads: 2 })
  const found: number[] = []
  try {
    for (const version of new Set(episodes.flat().map((turn) => turn.version)))
      for (const turns of episodes) {
        if (!turns.some((turn) => turn.version === version)) continue
        const tokens = turns.flatMap((turn) => [...turn.prompt, ...turn.tokens])
        const logprobs = await trainer.logprobs({
          checkpointDir: homeAt(home).run(run).checkpointDir(version),
          tokens: Int32Array.from(tokens),
          offsets: Int32Array.of(0, tokens.length),
          lossMask: Uint8Array.from(tokens, (_, place) => (place > 0 ? 1 : 0)),
          ...{ temperature, microBatchTokens: 2048 },
        })
        let begin = 0
        for (const turn of turns) {
          const at = begin + turn.prompt.length
          begin = at + turn.tokens.length
          if (turn.version !== version) continue
          for (const [i, logprob] of turn.logprobs.entries())
            found.push(Math.abs(logprob - (logprobs[at + i] ?? Number.NaN)))
        }
      }
  } finally {
    await trainer.close()
  }
  const sum = found.reduce((total, each) => total + each, 0)
  return {
    mean: sum / found.length,
    largest: found.reduce((most, each) => Math.max(most, each), 0),
    tokens: found.length,
  }
}
