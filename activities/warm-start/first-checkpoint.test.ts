import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { configSchema } from '../../config/schema/schema.ts'
import { uniforms } from '../../identity/identity.ts'
import { openChat } from '../../policy/chat/chat.ts'
import { renderArchitecture } from '../../policy/checkpoints/architecture-config.ts'
import { publishCheckpoint, readCheckpoint } from '../../policy/checkpoints/checkpoint.ts'
import { tinyArchitecture } from '../../policy/checkpoints/policy.testing.ts'
import { writeSafetensors } from '../../policy/files/safetensors.ts'
import { randomWeights } from '../../policy/sampler/random-weights.testing.ts'
import { compactAddedTokens } from '../../policy/templates/compact-template.ts'
import {
  appended,
  conversation,
  fieldChats,
  lookTool,
  openFieldChat,
} from '../../policy/templates/field-templates.testing.ts'
import { trainTokenizer } from '../../policy/tokenizer/byte-pair-training.ts'
import { Tokenizer } from '../../policy/tokenizer/tokenizer.ts'
import { weightSpecs } from '../../policy/transformer/architecture.ts'
import { writeChatFolder } from '../../test/peers/chat-folders.ts'
import { firstCheckpoint } from './first-checkpoint.ts'

const tokenizer = trainTokenizer(['go to the shelf'], {
  vocabularySize: 300,
  addedTokens: compactAddedTokens([]),
})
const weights = randomWeights(tinyArchitecture, uniforms(1))
const learnt = { architecture: tinyArchitecture, weights, tokenizer }

let folder: string
let lines: string[]
let given: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdure-first-'))
  given = join(folder, 'given')
  lines = []
  return () => rm(folder, { recursive: true })
})

const begin = () =>
  firstCheckpoint(join(folder, '0'), configSchema.parse({ policy: { from: given } }), [], (line) =>
    lines.push(line),
  )

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

  // [PRETRAINED-5]
  it('of a published model talks by its own template, from then on and for other programs, and its peculiarities are logged', async () => {
    const field = fieldChats.find(({ name }) => name === 'qwen3')
    if (field === undefined) throw new Error('no such model')
    const architecture = { ...tinyArchitecture, vocab_size: Tokenizer.parse(field.tokenizer).vocabularySize }
    await writeChatFolder(given, field)
    await writeFile(join(given, 'config.json'), renderArchitecture(architecture))
    const random = randomWeights(architecture, uniforms(1))
    const tensors = weightSpecs(architecture).map(
      ({ name, shape }) =>
        [name, { dtype: 'F32' as const, shape, data: random.get(name) ?? new Float32Array() }] as const,
    )
    await writeSafetensors(join(given, 'model.safetensors'), new Map(tensors), {})
    await begin()
    expect(lines).toEqual([expect.stringContaining('after an action with thoughts')])
    const begun = await openChat(join(folder, '0'))
    const original = await openFieldChat('qwen3')
    expect(begun.format).toBe('jinja')
    expect(appended(begun, conversation, [lookTool])).toEqual(appended(original, conversation, [lookTool]))
    expect(await readFile(join(folder, '0', 'chat_template.jinja'), 'utf8')).toBe(field.modelChat.template)
    // A run that starts from this one, and so each further version, goes on like that.
    const next = configSchema.parse({ policy: { from: join(folder, '0') } })
    await firstCheckpoint(join(folder, '1'), next, [], () => undefined)
    const [one, other] = await Promise.all(['0', '1'].map((name) => readCheckpoint(join(folder, name))))
    expect(other?.modelChat).toEqual(one?.modelChat)
  })
})
