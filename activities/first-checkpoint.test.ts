import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { configSchema } from '../config/schema.ts'
import { uniforms } from '../identity/identity.ts'
import { compactAddedTokens } from '../policy/chat/compact-template.ts'
import { publishCheckpoint, readCheckpoint } from '../policy/checkpoints/checkpoint.ts'
import { tinyArchitecture } from '../policy/checkpoints/policy.testing.ts'
import { randomWeights } from '../policy/sampler/random-weights.testing.ts'
import { trainTokenizer } from '../policy/tokenizer/byte-pair-training.ts'
import { firstCheckpoint } from './first-checkpoint.ts'

const tokenizer = trainTokenizer(['go to the shelf'], {
  vocabularySize: 300,
  addedTokens: compactAddedTokens([]),
})
const weights = randomWeights(tinyArchitecture, uniforms(1))
const learnt = { architecture: tinyArchitecture, weights, tokenizer }

let folder: string
let given: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdure-first-'))
  given = join(folder, 'given')
  return () => rm(folder, { recursive: true })
})

const begin = () => firstCheckpoint(join(folder, '0'), configSchema.parse({ policy: { from: given } }), [])

describe('a policy that starts from a folder', () => {
  // [PRETRAINED-2]
  it('of another run continues in the chat format that it learnt, as version 0 without moments', async () => {
    const state = { version: 7, step: 70, chat: 'compact', facts: {} } as const
    await publishCheckpoint(given, {
      ...learnt,
      state,
      optimizer: { step: 70, first: weights, second: weights },
    })
    await begin()
    const begun = await readCheckpoint(join(folder, '0'))
    expect(begun).toMatchObject({ tokenizer, state: { version: 0, step: 0, chat: 'compact' } })
    expect(begun.weights).toEqual(weights)
  })

  // [PRETRAINED-2]
  it('whose bytes are not those that were published is refused by name', async () => {
    const state = { version: 7, step: 70, chat: 'compact', facts: {} } as const
    await publishCheckpoint(given, { ...learnt, state })
    await writeFile(join(given, 'tokenizer.json'), `${tokenizer} `)
    await expect(begin()).rejects.toMatchObject({ kind: 'corrupt', permanent: true })
  })

  it('whose tokenizer lacks what its chat format needs is refused before a turn fails of it', async () => {
    const state = { version: 7, step: 70, chat: 'hermes', facts: {} } as const
    await publishCheckpoint(given, { ...learnt, state })
    await expect(begin()).rejects.toMatchObject({
      kind: 'foreign',
      permanent: true,
      message: expect.stringMatching(/given.tokenizer\.json does not fit: .*<\|im_start\|>/),
    })
  })
})
