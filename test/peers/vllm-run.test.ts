/**
 * A run of a real model: SmolLM2-135M, a built-in task, sampled by vLLM's real server and trained by the PyTorch trainer on two ranks.
 * A rank, the server, the trainer's process and the worker are killed once each. Where SmolLM2 is missing a small policy takes its place.
 *
 * `npm test -- --vllm` runs it.
 */
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runId } from '../../identity/identity.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { freePort } from '../host/free-port.ts'
import { removeHome, startPerdure, temporaryHome } from '../support/perdure-process.ts'
import { type ForeignEnding, type ForeignRun, samplerDifference, trainThroughKills } from './foreign-run.ts'
import { hasSmolLM2, writeSmolLM2 } from './smollm2.ts'
import { pythonWithTorch } from './torch.ts'
import { pythonWithVllm, startVllmServer } from './vllm-server.ts'

const vllm = pythonWithVllm()
const torch = pythonWithTorch()
const home = temporaryHome()
const [base, run] = [runId('base'), runId('real')]
const updates = 4
const temperature = 1
const contextLength = 2048
/** A model that never wins has rewards that teach nothing: here one sample of a group is preferred to the other. */
const algorithm = `import { algorithms } from 'perdure'
export const algorithm = {
  ...algorithms.grpo,
  name: 'first',
  advantagesOf: (groups) => groups.map(({ episodes }) => episodes.map((_, sample) => (sample === 0 ? 1 : -1))),
}
`

/** The folder of the model. */
async function model(): Promise<string> {
  const folder = join(home, 'model')
  if (hasSmolLM2(torch)) {
    await writeSmolLM2(torch, folder)
    return folder
  }
  const small = ['test/support/whole-pipeline.yaml', '--run', base, '--set', 'training.updates=0']
  const { code, stderr } = await startPerdure(home, 'train', ...small).ended
  expect(code, stderr).toBe(0)
  return homeAt(home).run(base).checkpointDir(0)
}

describe.skipIf(vllm === undefined || torch === undefined)(
  'a run of a real model (skipped without vLLM or PyTorch)',
  () => {
    let of: ForeignRun
    let ending: ForeignEnding
    beforeAll(async () => {
      const from = await model()
      const port = await freePort()
      writeFileSync(join(home, 'first.ts'), algorithm)
      of = {
        ...{ home, run, python: torch ?? '', updateMs: 900_000 },
        start: () => startVllmServer({ python: vllm ?? '', model: from, contextLength, adapters: 3, port }),
        config: {
          tasks: [{ task: 'alfworld', turnLimit: 2 }],
          policy: {
            ...{ from, contextLength, engineTimeoutSeconds: 600, trainerStallSeconds: 600 },
            lora: { rank: 4, alpha: 8, targets: ['q_proj', 'v_proj'] },
          },
          rollout: { groupSize: 2, groupsPerUpdate: 2, refill: 0, maxTokensPerTurn: 24, temperature },
          crossPolicy: { staleShare: 0.5, poolSize: 1, refreshEvery: 1 },
          learning: {
            ...{ algorithm: './first.ts', learningRate: 0.0002, klCoefficient: 0 },
            ...{ taskNormalization: 'none', microBatchTokens: 2048 },
          },
          training: { updates, keepCheckpoints: 20 },
          evaluation: { every: 0, suites: [] },
        },
      }
      ending = await trainThroughKills(of)
    }, 3_600_000)
    afterAll(() => removeHome(home))

    it('is done after each of its parts was killed once, with every update made once', () => {
      expect(ending.code, ending.stderr).toBe(0)
      expect(ending.steps).toEqual([1, 2, 3, 4])
      for (let version = 0; version <= updates; version++)
        expect(readdirSync(homeAt(home).run(run).checkpointDir(version))).toContain(
          'adapter_model.safetensors',
        )
    })

    it('has every turn of an episode once, in their order', () => {
      const turns = ending.episodes.map((episode) => episode.map(({ turn }) => turn))
      expect(turns.flat().length).toBeGreaterThanOrEqual(updates * 4)
      for (const numbers of turns) expect(numbers).toEqual(numbers.map((_, at) => at))
    })

    it('was trained on the logprobs of the versions that its turns name, within 1e-4 in the mean', async () => {
      const some = { ...ending, episodes: ending.episodes.slice(0, 6) }
      const { mean, largest, tokens } = await samplerDifference(of, some, temperature)
      console.log(
        `${tokens} tokens, logprobs within ${mean.toExponential(1)} in the mean, ${largest.toExponential(1)} at most`,
      )
      expect(mean).toBeLessThan(1e-4)
      expect(largest).toBeLessThan(1e-2)
    }, 900_000)
  },
)
