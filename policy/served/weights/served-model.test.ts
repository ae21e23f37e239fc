/** The model of a version that is served. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { closeDialects, dialects, startAdapterServer } from '../../dialects/dialect-servers.testing.ts'
import { publishServed, servedArchitecture } from '../../dialects/llama-engine.testing.ts'
import { openServedEngine } from '../served.ts'
import { modelIn } from './served-model.ts'

/** 2^20 tokens of 2^11 numbers are 2^31 weights, 8 GiB in F32; the rest is below a hundredth of that. */
const large = {
  ...{ model_type: 'llama', vocab_size: 2 ** 20, hidden_size: 2 ** 11, intermediate_size: 8 },
  ...{ num_hidden_layers: 1, num_attention_heads: 16, num_key_value_heads: 1, head_dim: 128 },
  ...{ rms_norm_eps: 1e-5, rope_theta: 10_000, max_position_embeddings: 1024, tie_word_embeddings: true },
}

it('of weights beyond 4 GiB the log says that they were not compared, and why', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'served-model-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  await writeFile(join(dir, 'config.json'), JSON.stringify(large))
  const { score, unscored } = await modelIn(dir, 'run@0')
  expect(score).toBeUndefined()
  expect(unscored).toContain('they take 8.0 GiB in F32, and at most 4.0 GiB are computed here')

  const [dialect] = dialects
  if (dialect === undefined) throw new RangeError('no dialect')
  await publishServed(join(dir, 'small'), 0)
  const { url } = await startAdapterServer(dialect, { base: join(dir, 'small') })
  onTestFinished(() => closeDialects())
  const said: string[] = []
  // The server that answers is a small one, which has fewer tokens.
  const modelOf = async () => ({
    ...(await modelIn(dir, 'run@0')),
    vocabulary: servedArchitecture.vocab_size,
  })
  const engine = await openServedEngine(dialect.protocol, {
    ...{ run: 'run', urls: [url], apiKey: undefined, contextLength: 64, answerMs: 30_000 },
    ...{ log: (line: string) => said.push(line), modelOf },
  })
  onTestFinished(() => engine.close())
  await engine.load(0, dir)
  expect(said.at(-1)).toContain(`not held against its weights: ${unscored}`)
})
