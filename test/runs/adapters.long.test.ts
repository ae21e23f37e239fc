/** A run whose versions are adapters: killed in the middle, resumed, and what its versions, turns and files are afterwards. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type EpisodeId, runId, yieldsToTraining } from '../../identity/identity.ts'
import { readCheckpoint } from '../../policy/checkpoints/checkpoint.ts'
import { createTrainer } from '../../policy/trainer/embedded.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { openStore, type Store } from '../../storage/store.ts'
import type { StoredAction } from '../../storage/trajectories/actions.ts'
import {
  eventually,
  killServer,
  type PerdureProcess,
  removeHome,
  startPerdure,
  temporaryHome,
} from '../support/perdure-process.ts'

const run = runId('adapters')
const updates = 4
const temperature = 0.8
const home = temporaryHome()
const directory = homeAt(home).run(run)
const trainer = createTrainer({ threads: 1 })
let perdure: PerdureProcess | undefined
let store: Store
let episodes: readonly (readonly StoredAction[])[]

const set = [
  'policy.initialization=random', // weights that copy are larger, and what they compute rounds otherwise by more
  'warmStart.epochs=12',
  'policy.lora.rank=4',
  'policy.lora.alpha=8',
  'policy.lora.targets=[q_proj, v_proj, up_proj, down_proj]',
  'learning.learningRate=0.003',
  'rollout.refill=8', // every update has groups with a preference, so that it makes a version
  'learning.klCoefficient=0.01',
  'crossPolicy.staleShare=0.6',
  'crossPolicy.poolSize=2',
  'training.keepCheckpoints=20',
  `training.updates=${updates}`,
].flatMap((each) => ['--set', each])

beforeAll(async () => {
  perdure = startPerdure(home, 'train', 'test/support/whole-pipeline.yaml', '--run', run, ...set)
  await eventually('update 2', async () => {
    if (!existsSync(join(home, 'store.db'))) return undefined
    await using found = await openStore(homeAt(home).storeFile, { create: false })
    return ((await found.updates.latest(run))?.step ?? 0) >= 2 ? true : undefined
  })
  killServer(home)
  await perdure.killGroup()
  perdure = startPerdure(home, 'resume', run)
  const { code, stderr } = await perdure.ended
  expect(stderr).not.toMatch(/error/i)
  expect(code).toBe(0)
  store = await openStore(homeAt(home).storeFile, { create: false })
  const ids = (await store.episodes.page(run, '', 10_000))
    .map(({ id }) => id)
    .filter((id) => !yieldsToTraining(id))
  episodes = await Promise.all(ids.map((id: EpisodeId) => store.actions.list(id)))
}, 240_000)

afterAll(async () => {
  await perdure?.killGroup()
  await trainer.close()
  await store?.close()
  removeHome(home)
})

/** How far the turns' logprobs are from those that a version gives them: by turn in the mean, and by token. */
interface Differences {
  readonly largestOfTurn: number
  readonly largestOfToken: number
}

/** @param by which version, by turn */
async function differences(by: (turn: StoredAction) => number): Promise<Differences> {
  let found: Differences = { largestOfTurn: 0, largestOfToken: 0 }
  for (let version = 0; version <= updates; version++)
    for (const turns of episodes) {
      if (!turns.some((turn) => by(turn) === version)) continue
      const tokens = turns.flatMap((turn) => [...turn.prompt, ...turn.tokens])
      const logprobs = await trainer.logprobs({
        checkpointDir: directory.checkpointDir(version),
        tokens: Int32Array.from(tokens),
        offsets: Int32Array.of(0, tokens.length),
        lossMask: Uint8Array.from(tokens, (_, place) => (place > 0 ? 1 : 0)),
        ...{ temperature, microBatchTokens: 2048 },
      })
      let begin = 0
      for (const turn of turns) {
        const at = begin + turn.prompt.length
        begin = at + turn.tokens.length
        if (by(turn) !== version) continue
        const apart = [...turn.logprobs].map((logprob, i) =>
          Math.abs(logprob - (logprobs[at + i] ?? Number.NaN)),
        )
        const mean = apart.reduce((sum, each) => sum + each, 0) / apart.length
        found = {
          largestOfTurn: Math.max(found.largestOfTurn, mean),
          largestOfToken: Math.max(found.largestOfToken, ...apart),
        }
      }
    }
  return found
}

it('turns of one episode come from three versions, and the logprobs of each turn are those of its version', async () => {
  const versions = episodes.map((turns) => new Set(turns.map(({ version }) => version)))
  expect(Math.max(...versions.map(({ size }) => size))).toBeGreaterThanOrEqual(3)
  const { largestOfTurn, largestOfToken } = await differences(({ version }) => version)
  expect(largestOfTurn).toBeLessThan(1e-5)
  expect(largestOfToken).toBeLessThan(1e-4) // as far as engine and trainer ever are
  // Those of the version before differ by far more.
  const other = await differences(({ version }) => (version === 0 ? 1 : version - 1))
  expect(other.largestOfTurn).toBeGreaterThan(1e-2)
}, 60_000)

it('its versions are adapters beside one base, and each differs from the one before', async () => {
  expect(readdirSync(directory.baseDir)).toContain('model.safetensors')
  for (let version = 0; version <= updates; version++) {
    const files = readdirSync(directory.checkpointDir(version))
    expect(files).toContain('adapter_model.safetensors')
    expect(files).not.toContain('model.safetensors')
  }
  const [base, first, ...others] = await Promise.all(
    [directory.baseDir, ...Array.from({ length: updates + 1 }, (_, v) => directory.checkpointDir(v))].map(
      async (dir) => (await readCheckpoint(dir)).weights,
    ),
  )
  expect(first).toEqual(base)
  for (const weights of others) expect(weights).not.toEqual(base)
  expect(others).toHaveLength(updates)
  expect(others[0]?.get('model.embed_tokens.weight')).toEqual(base?.get('model.embed_tokens.weight'))
})

it('every update of it was made once, before and after it was killed', async () => {
  expect((await store.updates.list(run)).map(({ step }) => step)).toEqual([1, 2, 3, 4])
})

it('is evaluated, exported and found whole', async () => {
  const evaluated = await startPerdure(home, 'eval', `${run}@2`, '--episodes', '2', '--json').ended
  expect(evaluated.stderr).not.toMatch(/error/i)
  expect(evaluated.code).toBe(0)
  const exported = await startPerdure(home, 'export', run, '--out', join(home, 'out.jsonl')).ended
  expect(exported.code).toBe(0)
  const examined = await startPerdure(home, 'doctor', '--json').ended
  expect(examined.stdout).toContain(`${updates + 1} checkpoints, all whole`)
}, 120_000)
