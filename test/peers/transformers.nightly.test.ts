/** Transformers and Perdure agree on published models and on Perdure's checkpoints: tokens and log-probabilities. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { uniforms } from '../../identity/identity.ts'
import { createChat, openChat } from '../../policy/chat/chat.ts'
import { publishCheckpoint } from '../../policy/checkpoints/checkpoint.ts'
import { fieldModels, tokens, writeFieldModel } from '../../policy/checkpoints/field-models.testing.ts'
import { modelFilesIn } from '../../policy/checkpoints/pretrained.ts'
import { randomWeights } from '../../policy/sampler/random-weights.testing.ts'
import { compactAddedTokens } from '../../policy/templates/compact-template.ts'
import {
  appended,
  conversation,
  fieldChats,
  lookTool,
  openFieldChat,
  talk,
} from '../../policy/templates/field-templates.testing.ts'
import { readModelChat } from '../../policy/templates/model-chat.ts'
import { trainTokenizer } from '../../policy/tokenizer/byte-pair-training.ts'
import { Tokenizer } from '../../policy/tokenizer/tokenizer.ts'
import { createTrainer } from '../../policy/trainer/embedded.ts'
import { smallArchitecture } from '../../policy/transformer/small-architecture.testing.ts'
import { writeChatFolder } from './chat-folders.ts'
import { pythonWithTransformers, renderedByTransformers, runPython } from './transformers.ts'

const python = pythonWithTransformers('torch') ?? ''

const scorer = `
import json, sys, torch
from transformers import AutoModelForCausalLM
asked = json.load(sys.stdin)
for folder in asked["folders"]:
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    ids = torch.tensor([asked["tokens"]])
    with torch.no_grad():
        logprobs = model(ids).logits[0].double().log_softmax(-1)
    print(json.dumps({
        "logprobs": [logprobs[i, t].item() for i, t in enumerate(asked["tokens"][1:])],
        "ends": model.generation_config.eos_token_id,
    }))
`
const scored = z.object({
  logprobs: z.array(z.number()),
  ends: z.union([z.int(), z.array(z.int())]).nullable(),
})

async function scoredByTransformers(folders: readonly string[], tokens: readonly number[]) {
  const out = await runPython(python, scorer, JSON.stringify({ folders, tokens }))
  return out
    .trim()
    .split('\n')
    .map((line) => scored.parse(JSON.parse(line)))
}

const largest = (theirs: readonly number[], ours: ArrayLike<number>) =>
  Math.max(...theirs.map((value, at) => Math.abs(value - (ours[at] ?? Number.NaN))))

describe.skipIf(python === '')('beside transformers (skipped where it is not installed with PyTorch)', () => {
  let root: string
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'perdure-transformers-'))
  })
  afterAll(() => rm(root, { recursive: true, force: true }))

  // [MODEL-CHAT-2]
  test('of several templates the one that transformers takes is heard, in each layout', async () => {
    const field = fieldChats.find(({ name }) => name === 'qwen2')
    if (field === undefined) throw new Error('there is no qwen2')
    const { template } = field.modelChat
    const other = template.replace('# Tools', '# Others')
    const layouts: Record<string, Readonly<Record<string, string>>> = {
      tools: { 'additional_chat_templates/tool_use.jinja': other },
      others: { 'additional_chat_templates/rag.jinja': other },
      default: { 'additional_chat_templates/default.jinja': other },
      'windows-lines': { 'chat_template.jinja': template.replaceAll('\n', '\r\n') },
    }
    const folders = await Promise.all(
      Object.entries(layouts).map(async ([name, files]) => {
        const folder = await writeChatFolder(join(root, name), field)
        for (const [path, text] of Object.entries(files)) {
          await mkdir(dirname(join(folder, path)), { recursive: true })
          await writeFile(join(folder, path), text)
        }
        return folder
      }),
    )
    const asked = folders.map((folder) => ({ folder, messages: conversation, tools: [lookTool] }))
    const theirs = await renderedByTransformers(python, asked)
    for (const [index, folder] of folders.entries()) {
      const modelChat = await readModelChat(modelFilesIn(folder))
      const chat = await createChat({ chat: 'jinja', modelChat }, Tokenizer.parse(field.tokenizer))
      expect(appended(chat, conversation, [lookTool]), folder).toEqual(theirs[index]?.ids)
    }
  })

  test('each family hears the tokens that transformers renders', async () => {
    const asked = []
    for (const [index, field] of fieldChats.entries()) {
      const folder = await writeChatFolder(join(root, field.name), field, index % 2 === 1)
      asked.push({ folder, messages: talk }, { folder, messages: conversation, tools: [lookTool] })
    }
    const theirs = await renderedByTransformers(python, asked)
    for (const [index, { name }] of fieldChats.entries()) {
      const chat = await openFieldChat(name)
      const [talking, acting] = theirs.slice(2 * index, 2 * index + 2)
      expect(appended(chat, talk), name).toEqual(talking?.ids)
      // Its template knows no tools: what Perdure says of them is beside it.
      if (name !== 'smollm2') expect(appended(chat, conversation, [lookTool]), name).toEqual(acting?.ids)
      expect(chat.stopTokens, name).toContain(talking?.end)
    }
  }, 600_000)

  test('the recorded log-probabilities of each family are those of the installed version', async () => {
    const folders = []
    for (const model of fieldModels) {
      const folder = join(root, `model-${model.name}`)
      await mkdir(folder)
      await writeFieldModel(folder, model)
      folders.push(folder)
    }
    const theirs = await scoredByTransformers(folders, tokens)
    for (const [index, { name, logprobs }] of fieldModels.entries())
      expect(largest(theirs[index]?.logprobs ?? [], logprobs), name).toBeLessThan(1e-5)
  }, 600_000)

  test.each(['compact', 'hermes'] as const)(
    'a checkpoint in the format %s is opened: same tokens, ends and log-probabilities',
    async (format) => {
      const addedTokens =
        format === 'compact'
          ? compactAddedTokens([lookTool])
          : ['<|endoftext|>', '<|im_start|>', '<|im_end|>'].map((content) => ({ content, special: true }))
      const tokenizer = trainTokenizer(['a lamp on a shelf'], { vocabularySize: 330, addedTokens })
      const vocabulary = Tokenizer.parse(tokenizer).vocabularySize
      const architecture = { ...smallArchitecture, vocab_size: vocabulary, max_position_embeddings: 2048 }
      const dir = join(root, `checkpoint-${format}`)
      await publishCheckpoint(dir, {
        architecture,
        tokenizer,
        weights: randomWeights(architecture, uniforms(5)),
        state: { version: 3, step: 3, chat: format, facts: {} },
      })
      const chat = await openChat(dir)
      const own = appended(chat, conversation, [lookTool])
      const [rendered] = await renderedByTransformers(python, [
        { folder: dir, messages: conversation, tools: [lookTool] },
      ])
      expect(rendered?.ids).toEqual(own)
      expect(rendered?.end).toBe(chat.stopTokens[0])
      const [theirs] = await scoredByTransformers([dir], own)
      expect([theirs?.ends].flat()).toEqual([...chat.stopTokens])
      const trainer = createTrainer({ threads: 1 })
      try {
        const ours = await trainer.logprobs({
          checkpointDir: dir,
          tokens: Int32Array.from(own),
          offsets: Int32Array.of(0, own.length),
          lossMask: Uint8Array.from(own, (_, at) => (at === 0 ? 0 : 1)),
          temperature: 1,
          microBatchTokens: 4096,
        })
        expect(largest(theirs?.logprobs ?? [], ours.subarray(1))).toBeLessThan(1e-4)
      } finally {
        await trainer.close()
      }
    },
    600_000,
  )
})
