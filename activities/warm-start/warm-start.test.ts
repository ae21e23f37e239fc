import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeEach, expect, it } from 'vitest'
import { openRun } from '../../bench/learning/opened-run.ts'
import { configSchema, type RunConfig } from '../../config/schema/schema.ts'
import { foreignEnvironment } from '../../envs/bridges/foreign-environment.ts'
import type { EnvironmentDefinition } from '../../envs/contract/environment.ts'
import { readUpdateBatch } from '../../policy/trainer/batch-file.ts'
import { prepareWarmStart, type WarmStartSettings, warmStartKey } from './warm-start.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdure-warm-start-'))
  return () => rm(folder, { recursive: true })
})

// [WARM-START-2]
it('imitates as many demonstrations as are asked for, though its tokenizer needs more', async () => {
  const config = configSchema.parse({
    tasks: [{ task: 'alfworld', settings: { difficulty: 'easy' } }],
    policy: { hiddenSize: 32, layers: 1, heads: 2, keyValueHeads: 1, vocabularySize: 512 },
    warmStart: { demonstrations: 3, chunks: 1 },
  })
  await using run = await openRun(folder, config)
  await prepareWarmStart(run.opened, () => undefined, new AbortController().signal)
  const { offsets } = await readUpdateBatch(run.opened.directory.demonstrationsFile)
  expect(offsets).toHaveLength(3 + 1)
})

const dir = mkdtempSync(join(tmpdir(), 'perdure-key-'))

afterAll(() => rmSync(dir, { recursive: true }))

const settings: WarmStartSettings = {
  version: 0,
  totalSteps: 10,
  batchTokens: 512,
  observationWeight: 0,
  warmUpSteps: 1,
  optimizer: { learningRate: 0.1, beta1: 0.9, beta2: 0.9, epsilon: 1e-8, weightDecay: 0, gradientClip: 1 },
  microBatchTokens: 512,
  seed: 7,
}

function keyOf(
  { first = 'weights', demonstrations = 'tokens' },
  changed: {
    readonly threads?: number
    readonly chunks?: number
    readonly settings?: object
    readonly corrected?: RunConfig
    readonly environments?: readonly Pick<EnvironmentDefinition, 'sources'>[]
  } = {},
): Promise<string> {
  const demonstrationsFile = join(dir, 'demonstrations.safetensors')
  writeFileSync(join(dir, 'manifest.json'), first)
  writeFileSync(demonstrationsFile, demonstrations)
  const { threads = 2, chunks = 4 } = changed
  return warmStartKey({
    firstDir: dir,
    demonstrationsFile,
    settings: { ...settings, ...changed.settings },
    chunks,
    threads,
    corrected: changed.corrected,
    ...(changed.environments && { environments: changed.environments }),
  })
}

it('what a warm start follows from changes its key, and nothing else does', async () => {
  // [WARM-KEY-1]
  const key = await keyOf({})
  expect(key).toMatch(/^[0-9a-f]{64}$/)
  expect(await keyOf({})).toBe(key)
  const others = [
    await keyOf({ first: 'other weights' }),
    await keyOf({ demonstrations: 'other tokens' }),
    await keyOf({}, { threads: 1 }),
    await keyOf({}, { chunks: 1 }),
    await keyOf({}, { settings: { seed: 8 } }),
    await keyOf({}, { settings: { totalSteps: 11 } }),
  ]
  expect(new Set([key, ...others]).size).toBe(7)
})

it('[WARM-KEY-2] corrections count by what their episodes are played with', async () => {
  const config = (changes: object) => configSchema.parse({ warmStart: { corrections: 1 }, ...changes })
  const keys = [
    await keyOf({}),
    await keyOf({}, { corrected: config({}) }),
    await keyOf({}, { corrected: config({ seed: 2 }) }),
    await keyOf({}, { corrected: config({ warmStart: { corrections: 2 } }) }),
    await keyOf({}, { corrected: config({ tasks: [{ turnLimit: 9 }] }) }),
    await keyOf({}, { corrected: config({ rollout: { maxTokensPerTurn: 20 } }) }),
  ]
  expect(new Set(keys).size).toBe(keys.length)
  expect(await keyOf({}, { corrected: config({ training: { updates: 7 } }) })).toBe(keys[1])
})

it('[WARM-KEY-3] corrections count by the code and the data of the environment that they are played in', async () => {
  const folder = join(dir, 'word-game')
  const write = (file: string, text: string) => {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  write('game/index.ts', "import { rules } from '../rules.ts'\nexport const game = rules")
  write('game/words.txt', 'one two')
  write('rules.ts', "export { depth } from './deep/depth.cjs'")
  write('deep/depth.cjs', "require('./constant')")
  write('deep/constant.js', 'module.exports = 1')
  write('data/items.json', '[1]')
  write('program/run.py', 'import helper')
  write('program/helper.py', 'x = 1')
  const task = { task: 'game', from: join(folder, 'game'), data: join(folder, 'data') }
  const corrected = configSchema.parse({
    tasks: [task],
    warmStart: { corrections: 1 },
    evaluation: { suites: [] },
  })
  const bridge = foreignEnvironment({
    ...{ name: 'game', summary: '', source: '', licence: '', reward: '', turnLimit: 1 },
    ...{ replayable: true, replayableBecause: '', command: 'python3', args: ['run.py'] },
    cwd: join(folder, 'program'),
  })
  const key = () => keyOf({}, { corrected, environments: [bridge] })
  const keys = [await key()]
  expect(await key()).toBe(keys[0])
  const changes = {
    'game/index.ts': "import { rules } from '../rules.ts'\nexport const game = rules // 2",
    'game/words.txt': 'one six',
    'rules.ts': "export { depth } from './deep/depth.cjs' // 2",
    'deep/constant.js': 'module.exports = 2',
    'data/items.json': '[2]',
    'program/run.py': 'import helper # 2',
    'program/helper.py': 'x = 2',
  }
  for (const [file, text] of Object.entries(changes)) {
    write(file, text)
    keys.push(await key())
  }
  expect(new Set(keys).size).toBe(1 + Object.keys(changes).length)
  write('elsewhere.ts', 'export const unrelated = 1')
  expect(await key()).toBe(keys.at(-1))
})
