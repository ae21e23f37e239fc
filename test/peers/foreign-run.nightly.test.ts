/**
 * A run whose policy is sampled by a server in the form of vLLM's and trained by the PyTorch trainer on two ranks: server, rank, trainer
 * and worker are killed once each, and nothing is lost or doubled.
 */
import { readdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runId } from '../../identity/identity.ts'
import { readArchitecture } from '../../policy/checkpoints/checkpoint.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { freePort } from '../host/free-port.ts'
import { removeHome, startPerdure, temporaryHome } from '../support/perdure-process.ts'
import { type ForeignEnding, type ForeignRun, samplerDifference, trainThroughKills } from './foreign-run.ts'
import { ranksOf } from './ranks.ts'
import { pythonWithTorch } from './torch.ts'
import { startDialectServer } from './vllm-dialect.ts'

const python = pythonWithTorch()
const home = temporaryHome()
const [base, run] = [runId('base'), runId('foreign')]
const updates = 4
const temperature = 0.8
let of: ForeignRun
let ending: ForeignEnding

describe.skipIf(python === undefined)('a run of both halves (skipped where no PyTorch is installed)', () => {
  beforeAll(async () => {
    const from = homeAt(home).run(base).checkpointDir(0)
    // A policy that has some skill, so that groups have something to learn from.
    const made = startPerdure(
      home,
      'train',
      'test/support/whole-pipeline.yaml',
      '--run',
      base,
      '--set',
      'training.updates=0',
    )
    expect((await made.ended).code).toBe(0)
    const contextLength = 512
    const { vocab_size: vocabulary } = await readArchitecture(from)
    const port = await freePort()
    of = {
      ...{ home, run, python: python ?? '', updateMs: 240_000 },
      start: () => startDialectServer({ vocabulary, contextLength, port }),
      config: {
        tasks: [
          {
            task: 'alfworld',
            turnLimit: 10,
            settings: { difficulty: 'easy', tasks: ['place'], objects: { min: 2, max: 2 } },
          },
        ],
        policy: { from, contextLength, lora: { rank: 4, alpha: 8 }, engineTimeoutSeconds: 120 },
        rollout: { groupSize: 4, groupsPerUpdate: 2, refill: 8, maxTokensPerTurn: 24, temperature },
        crossPolicy: { staleShare: 0.5, poolSize: 1, refreshEvery: 1 },
        learning: { learningRate: 0.003, microBatchTokens: 1024 },
        training: { updates, keepCheckpoints: 20 },
        evaluation: { every: 0, suites: [] },
      },
    }
    ending = await trainThroughKills(of)
  }, 900_000)
  afterAll(() => removeHome(home))

  it('is done after each of its parts was killed once, with every update made once', () => {
    expect(ending.code, ending.stderr).toBe(0)
    expect(ending.steps).toEqual([1, 2, 3, 4])
    for (let version = 0; version <= updates; version++)
      expect(readdirSync(homeAt(home).run(run).checkpointDir(version))).toContain('adapter_model.safetensors')
  })

  it('has every turn of an episode once, in their order', () => {
    const turns = ending.episodes.map((episode) => episode.map(({ turn }) => turn))
    expect(turns.flat().length).toBeGreaterThan(100)
    for (const numbers of turns) expect(numbers).toEqual(numbers.map((_, at) => at))
  })

  it('was trained on the logprobs of the versions that its turns name', async () => {
    const { mean, largest } = await samplerDifference(of, ending, temperature)
    expect(mean).toBeLessThan(1e-5)
    expect(largest).toBeLessThan(1e-3)
  }, 120_000)

  it('leaves no rank behind', async () => {
    await expect.poll(() => ranksOf(home), { timeout: 60_000 }).toEqual([])
  }, 90_000)
})
