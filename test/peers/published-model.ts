/** A published model in miniature: weights, tokenizer and chat template in a folder. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { uniforms } from '../../identity/identity.ts'
import { renderArchitecture } from '../../policy/checkpoints/architecture-config.ts'
import { tinyArchitecture } from '../../policy/checkpoints/policy.testing.ts'
import { type Tensor, writeSafetensors } from '../../policy/files/safetensors.ts'
import { randomWeights } from '../../policy/sampler/random-weights.testing.ts'
import { fieldChats } from '../../policy/templates/field-templates.testing.ts'
import { Tokenizer } from '../../policy/tokenizer/tokenizer.ts'
import { weightSpecs } from '../../policy/transformer/architecture.ts'
import { writeChatFolder } from './chat-folders.ts'

/** Writes the folder. @returns its path */
export async function writePublishedModel(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true })
  const chat = fieldChats.find(({ name }) => name === 'qwen3')
  if (chat === undefined) throw new RangeError('no chat of Qwen3')
  await writeChatFolder(folder, chat)
  const { vocabularySize } = Tokenizer.parse(chat.tokenizer)
  const architecture = { ...tinyArchitecture, vocab_size: vocabularySize, max_position_embeddings: 1024 }
  const weights = randomWeights(architecture, uniforms(1))
  const tensors = weightSpecs(architecture).map(({ name, shape }): [string, Tensor] => [
    name,
    { dtype: 'F32', shape, data: weights.get(name) ?? new Float32Array() },
  ])
  await writeSafetensors(join(folder, 'model.safetensors'), new Map(tensors))
  await writeFile(join(folder, 'config.json'), renderArchitecture(architecture))
  return folder
}
