/**
 * A policy from a folder: a checkpoint of a run, or a Hugging Face folder with `config.json`, `tokenizer.json` and
 * `model.safetensors`, or its shards with `model.safetensors.index.json`.
 *
 * Invariants
 * - [PRETRAINED-1] The files are only read; BF16 and F16 weights are widened exactly to Float32.
 * - [PRETRAINED-2] A checkpoint of a run is checked against its manifest, and continues in the chat format that it
 *   learnt.
 * - [PRETRAINED-3] A tensor that the architecture has no place for means that another model is in the folder:
 *   refused.
 * - [PRETRAINED-4] Shard names lead nowhere outside the folder.
 * - [PRETRAINED-5] A published model talks by its own chat template; one without a template in Hermes' format.
 */
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { z } from 'zod'
import { type ModelFiles, readModelChat } from '../chat/model-chat.ts'
import type { SpokenChat } from '../chat/spoken-chat.ts'
import { type Architecture, type Weights, weightSpecs } from '../transformer/architecture.ts'
import { parseArchitecture } from './architecture-config.ts'
import { readCheckpoint } from './checkpoint.ts'
import { CheckpointFault, fileFault } from './checkpoint-fault.ts'
import { readWhole } from './durable-file.ts'
import { manifestFile } from './manifest.ts'
import { weightsFrom } from './named-weights.ts'
import { readSafetensors, type Tensor } from './safetensors.ts'

/** A policy as its publisher gives it. */
export interface PretrainedPolicy extends SpokenChat {
  readonly architecture: Architecture
  readonly weights: Weights
  /** The text of `tokenizer.json`. */
  readonly tokenizer: string
}

const indexSchema = z.looseObject({ weight_map: z.record(z.string(), z.string()) })

/**
 * Reads a checkpoint of a run, or a Hugging Face folder.
 * @throws CheckpointFault `missing`, `corrupt`, `foreign` (unsupported model), `io`
 */
export async function readPretrained(dir: string): Promise<PretrainedPolicy> {
  if (!existsSync(join(dir, manifestFile))) return readHuggingFace(dir)
  const { architecture, weights, tokenizer, state, modelChat } = await readCheckpoint(dir)
  return { architecture, weights, tokenizer, chat: state.chat, modelChat }
}

async function readHuggingFace(dir: string): Promise<PretrainedPolicy> {
  const configFile = join(dir, 'config.json')
  const architecture = parseArchitecture(await readText(configFile), configFile)
  const tokenizer = await readText(join(dir, 'tokenizer.json'))
  const tensors = await readTensors(dir)
  const weights = weightsFrom(weightSpecs(architecture), tensors, dir)
  for (const name of tensors.keys())
    if (!weights.has(name) && !isRedundant(name, architecture))
      throw new CheckpointFault(
        'foreign',
        `${dir}: tensor "${name}" has no place in the architecture of config.json`,
      )
  const modelChat = await readModelChat(modelFilesIn(dir))
  return { architecture, weights, tokenizer, chat: modelChat === undefined ? 'hermes' : 'jinja', modelChat }
}

function isRedundant(name: string, architecture: Architecture): boolean {
  return (
    name.endsWith('.rotary_emb.inv_freq') || (name === 'lm_head.weight' && architecture.tie_word_embeddings)
  )
}

/** The files of a published model. */
export function modelFilesIn(dir: string): ModelFiles {
  return {
    text: (path) => textOf(join(dir, path)),
    list: (folder) => namesIn(join(dir, folder)),
  }
}

/** Of a file that may be missing. */
async function textOf(file: string): Promise<string | undefined> {
  return existsSync(file) ? await readText(file) : undefined
}

/** Names of the files in a folder that may be missing. */
async function namesIn(folder: string): Promise<string[]> {
  if (!existsSync(folder)) return []
  try {
    return await readdir(folder)
  } catch (cause) {
    throw fileFault(folder, 'listing it', cause)
  }
}

async function readText(file: string): Promise<string> {
  return new TextDecoder().decode(await readWhole(file))
}

async function readTensors(dir: string): Promise<ReadonlyMap<string, Tensor>> {
  try {
    return (await readSafetensors(join(dir, 'model.safetensors'))).tensors
  } catch (cause) {
    if (!(cause instanceof CheckpointFault) || cause.kind !== 'missing') throw cause
  }
  const indexFile = join(dir, 'model.safetensors.index.json')
  let text: string
  try {
    text = await readText(indexFile)
  } catch (cause) {
    throw new CheckpointFault('missing', `${dir}: neither model.safetensors nor its index is there`, {
      cause,
    })
  }
  let shards: Record<string, string>
  try {
    shards = indexSchema.parse(JSON.parse(text)).weight_map
  } catch (cause) {
    throw new CheckpointFault('corrupt', `${indexFile}: no index of safetensors shards`, { cause })
  }
  const tensors = new Map<string, Tensor>()
  for (const shard of [...new Set(Object.values(shards))].sort()) {
    if (shard !== basename(shard) || !shard.endsWith('.safetensors'))
      throw new CheckpointFault('corrupt', `${indexFile}: "${shard}" is no name of a shard in this folder`)
    for (const [name, tensor] of (await readSafetensors(join(dir, shard))).tensors)
      if (shards[name] === shard) tensors.set(name, tensor)
  }
  const absent = Object.keys(shards).find((name) => !tensors.has(name))
  if (absent !== undefined)
    throw new CheckpointFault('corrupt', `${indexFile}: tensor "${absent}" is not in ${shards[absent]}`)
  return tensors
}
