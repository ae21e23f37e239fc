/** An evaluation of a checkpoint of ours through llama.cpp's real server, held against the engine in the process. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runId } from '../../identity/identity.ts'
import { readCheckpoint } from '../../policy/checkpoints/checkpoint.ts'
import { writeGguf } from '../../policy/dialects/gguf.testing.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { openStore } from '../../storage/store.ts'
import type { StoredAction } from '../../storage/trajectories/actions.ts'
import { removeHome, startPerdure, temporaryHome } from '../support/perdure-process.ts'
import { type LlamaServer, llamaServerMissing, startLlamaServer } from './llama-server.ts'

const program = fileURLToPath(new URL('../../bin/perdure.mjs', import.meta.url))
const missing = llamaServerMissing()
const home = temporaryHome()
const [embedded, served] = [runId('embedded'), runId('served')]
const episodes = 8
const contextLength = 1024

/** A policy that a minute of imitation gives some skill, so that its actions are not arbitrary. */
const config = {
  policy: { hiddenSize: 32, layers: 2, heads: 2, keyValueHeads: 1, intermediateSize: 64, contextLength },
  warmStart: { demonstrations: 40, epochs: 4, chunks: 1 },
  training: { updates: 0 },
  evaluation: { suites: [{ name: 'held_out', episodes }] },
}

describe.skipIf(missing !== undefined)('an evaluation through llama.cpp’s server', () => {
  let server: LlamaServer
  beforeAll(async () => {
    writeFileSync(join(home, 'config.json'), JSON.stringify(config))
    await train(embedded, [])
    const checkpoint = homeAt(home).run(embedded).checkpointDir(0)
    const { architecture, weights, tokenizer } = await readCheckpoint(checkpoint)
    const model = join(home, 'model.gguf')
    await writeGguf(model, architecture, weights, vocabularyOf(tokenizer))
    server = await startLlamaServer(model, { contextLength, slots: 8 })
    await train(served, [
      'warmStart.demonstrations=0',
      'warmStart.chunks=1',
      `policy.from=${checkpoint}`,
      'policy.engine=llama.cpp',
      `policy.engineUrl=${server.url}`,
    ])
  }, 240_000)
  afterAll(async () => {
    await server?.close()
    removeHome(home)
  })

  it('plays the same actions as the embedded engine, with the same logprobs', async () => {
    const [own, foreign] = [await actionsOf(embedded), await actionsOf(served)]
    expect(own.length).toBeGreaterThan(episodes)
    expect(foreign.map(({ tokens }) => [...tokens])).toEqual(own.map(({ tokens }) => [...tokens]))
    const differences = own.flatMap(({ logprobs }, at) =>
      [...logprobs].map((logprob, place) => Math.abs(logprob - (foreign[at]?.logprobs[place] ?? Number.NaN))),
    )
    const largest = differences.reduce((most, each) => Math.max(most, each), 0)
    console.log(
      `${own.length} actions, ${differences.length} tokens, logprobs within ${largest.toExponential(1)}`,
    )
    expect(largest).toBeLessThan(1e-4)
  })

  it('comes from a server that `engine check` finds nothing wrong with', () => {
    const words = ['engine', 'check', server.url, '--json']
    const checked = (checkpoint: string) =>
      spawnSync(process.execPath, [program, ...words, '--checkpoint', checkpoint], { encoding: 'utf8' })
    const { status, stdout, stderr } = checked(homeAt(home).run(embedded).checkpointDir(0))
    expect(status, stderr).toBe(0)
    const report = JSON.parse(stdout)
    expect(report).toMatchObject({ url: server.url, engine: 'llama.cpp', ok: true })
    expect(report.checks.length).toBe(6)
    const missing = checked(join(home, 'nowhere'))
    expect(missing.status).toBe(1)
    expect(JSON.parse(missing.stdout).checks[0]).toMatchObject({ ok: false })
  })

  it('is refused where the configuration needs more than that engine can do', async () => {
    const { code, stderr } = await startPerdure(
      home,
      'train',
      ...['--set', 'policy.engine=llama.cpp', '--set', `policy.engineUrl=${server.url}`],
    ).ended
    expect(code).toBe(2)
    expect(stderr).toContain(': expected 0, because the engine llama.cpp serves the one model')
  })
})

async function train(run: string, set: readonly string[]): Promise<void> {
  const words = ['train', join(home, 'config.json'), '--run', run, '--no-cache']
  const ending = await startPerdure(home, ...words, ...set.flatMap((each) => ['--set', each])).ended
  expect(ending.code, ending.stderr).toBe(0)
}

/** Every action of the evaluation, in order. */
async function actionsOf(run: string): Promise<readonly StoredAction[]> {
  await using store = await openStore(homeAt(home).storeFile, { create: false })
  const found: StoredAction[] = []
  for (const { id } of await store.episodes.page(runId(run), '', 1000))
    for (let turn = 0; ; turn++) {
      const action = await store.actions.get(id, turn)
      if (action === undefined) break
      found.push(action)
    }
  return found
}

function vocabularyOf(tokenizer: string) {
  const { model, added_tokens: added } = JSON.parse(tokenizer) as {
    readonly model: {
      readonly vocab: Readonly<Record<string, number>>
      readonly merges: readonly (string | string[])[]
    }
    readonly added_tokens: readonly { readonly id: number; readonly content: string }[]
  }
  const tokens: string[] = []
  for (const [token, id] of Object.entries(model.vocab)) tokens[id] = token
  for (const { id, content } of added) tokens[id] = content
  const end = added.find(({ content }) => content === '<|end|>') ?? added[0]
  return {
    tokens,
    controls: added.map(({ id }) => id),
    merges: model.merges.map((merge) => (typeof merge === 'string' ? merge : merge.join(' '))),
    end: end?.id ?? 0,
  }
}
