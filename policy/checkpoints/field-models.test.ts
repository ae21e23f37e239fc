/** Models of the field, read from folders as they are published, against transformers. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Ending, Sampler } from '../sampler/sampler.ts'
import { createTrainer } from '../trainer/embedded.ts'
import { publishCheckpoint, readCheckpoint } from './checkpoint.ts'
import { fieldModels, tokens, writeFieldModel } from './field-models.testing.ts'
import { readPretrained } from './pretrained.ts'

const trainer = createTrainer({ threads: 1 })
let root: string
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'field-models-'))
})
afterAll(async () => {
  await trainer.close()
  await rm(root, { recursive: true, force: true })
})

describe.each(fieldModels)('a folder of $name', (model) => {
  const { name, logprobs } = model
  const own = (part: string) => join(root, `${name}-${part}`)

  beforeAll(async () => {
    const folder = await mkdtemp(own('published-'))
    await writeFieldModel(folder, model)
    await writeFile(join(folder, 'tokenizer.json'), '{}')
    const { architecture, weights, tokenizer, chat } = await readPretrained(folder)
    await publishCheckpoint(own('checkpoint'), {
      ...{ architecture, weights, tokenizer },
      state: { version: 0, step: 0, chat, facts: {} },
    })
  })

  it('gives a text the logprobs of transformers', async () => {
    const ours = await trainer.logprobs({
      checkpointDir: own('checkpoint'),
      tokens: Int32Array.from(tokens),
      offsets: Int32Array.of(0, tokens.length),
      lossMask: Uint8Array.from(tokens, (_, at) => (at === 0 ? 0 : 1)),
      temperature: 1,
      microBatchTokens: 1024,
    })
    const differences = logprobs.map((theirs, at) => Math.abs(theirs - (ours[at + 1] as number)))
    expect(differences.length).toBe(tokens.length - 1)
    expect(Math.max(...differences)).toBeLessThan(1e-4)
  })

  // Each in its own graphs, and in two parts, as a second turn reads them.
  it.each([
    ['fed', 0],
    ['constant', 2 ** 26],
  ])('is sampled from with the logprobs of the trainer, its weights %s', async (_, mostStored) => {
    const { architecture, weights } = await readCheckpoint(own('checkpoint'))
    const sampler = new Sampler({
      threads: 1,
      maxBatch: 4,
      contextLength: 64,
      cacheBytes: 2 ** 24,
      mostStored,
    })
    await sampler.load(0, architecture, weights)
    const context = Int32Array.from(tokens)
    const asked = { cacheKey: 'a', borders: [10], context, version: 0, stopTokens: [], seed: 3 }
    sampler.submit(1, { ...asked, maxNewTokens: 16, temperature: 0.8 })
    const endings: Ending[] = []
    while (sampler.busy) endings.push(...(await sampler.step()))
    const [ending] = endings
    if (ending === undefined || !('result' in ending)) throw new Error('it ended without a result')
    const { tokens: sampled, logprobs: reported } = ending.result
    const whole = Int32Array.of(...context, ...sampled)
    const scored = await trainer.logprobs({
      checkpointDir: own('checkpoint'),
      tokens: whole,
      offsets: Int32Array.of(0, whole.length),
      lossMask: Uint8Array.from(whole, (_, at) => (at < context.length ? 0 : 1)),
      temperature: 0.8,
      microBatchTokens: 1024,
    })
    const differences = [...reported].map((each, at) =>
      Math.abs(each - (scored[context.length + at] as number)),
    )
    expect(differences.length).toBe(16)
    expect(Math.max(...differences)).toBeLessThan(1e-4)
  })
})

it('contexts beyond the window of a model are refused by the engine and the trainer', async () => {
  const longer = Int32Array.from({ length: 66 }, (_, at) => at % 40)
  const sampler = new Sampler({ threads: 1, maxBatch: 4, contextLength: 65, cacheBytes: 2 ** 24 })
  const { architecture, weights } = await readCheckpoint(join(root, 'mistral-checkpoint'))
  await expect(sampler.load(0, architecture, weights)).rejects.toThrow('the last 64 tokens alone, and 65')
  const scored = trainer.logprobs({
    checkpointDir: join(root, 'mistral-checkpoint'),
    tokens: longer,
    offsets: Int32Array.of(0, longer.length),
    lossMask: Uint8Array.from(longer, (_, at) => (at === 65 ? 1 : 0)),
    temperature: 1,
    microBatchTokens: 1024,
  })
  await expect(scored).rejects.toThrow('the last 64 tokens alone, and 65 are asked for')
})
