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
import { readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { z } from 'zod'
import { reasonOf } from '../../faults/reason.ts'
import { decodeText } from '../../machine/files/text-file.ts'
import { CheckpointFault, fileFault } from '../files/checkpoint-fault.ts'
import { readWhole } from '../files/durable-file.ts'
import { readSafetensors, readTensorShapes, refuseLfsPointer, type Tensor } from '../files/safetensors.ts'
import { type ModelFiles, readModelChat, type SpokenChat } from '../templates/model-chat.ts'
import { type Architecture, type Weights, weightSpecs } from '../transformer/architecture.ts'
import { parseArchitecture, withTokenless } from './architecture-config.ts'
import { readArchitecture, readCheckpoint, readCheckpointText } from './checkpoint.ts'
import { manifestFile, readManifest } from './manifest.ts'
import { weightsFrom } from './named-weights.ts'

/** A policy as its publisher gives it. */
export interface PretrainedPolicy extends SpokenChat {
  readonly architecture: Architecture
  readonly weights: Weights
  /** The text of `tokenizer.json`. */
  readonly tokenizer: string
}

const indexSchema = z.looseObject({ weight_map: z.record(z.string(), z.string()) })

/** All of a policy but the numbers of its weights. */
export type PolicyOutline = Omit<PretrainedPolicy, 'weights'>

/**
 * Reads a checkpoint of a run, or a Hugging Face folder.
 * @throws CheckpointFault `missing`, `corrupt`, `foreign` (unsupported model), `io`
 */
export async function readPretrained(dir: string): Promise<PretrainedPolicy> {
  if (!existsSync(join(dir, manifestFile))) return readHuggingFace(dir)
  const { architecture, weights, tokenizer, state, modelChat } = await readCheckpoint(dir)
  return { architecture, weights, tokenizer, chat: state.chat, modelChat }
}

/**
 * The same without the numbers: of weights it reads which there are, and whether their files are as long as they have to be.
 * @throws as `readPretrained`
 */
export async function outlinePretrained(dir: string): Promise<PolicyOutline> {
  if (existsSync(join(dir, manifestFile))) return outlineCheckpoint(dir)
  const outline = await readOutline(dir)
  const { architecture } = outline
  const shapes = await readTensors(dir, readTensorShapes)
  for (const { name, shape } of weightSpecs(architecture)) {
    const found = shapes.get(name)?.shape.join()
    if (found !== shape.join())
      throw new CheckpointFault(
        'foreign',
        `${dir}: tensor "${name}" ${found === undefined ? 'is missing' : `has shape [${found}]`}, config.json calls for [${shape.join()}]`,
      )
  }
  refuseOthers(dir, shapes.keys(), architecture)
  return outline
}

/** Reads the texts of a run's checkpoint and compares the file sizes with the manifest. */
async function outlineCheckpoint(dir: string): Promise<PolicyOutline> {
  const { tokenizer, state, modelChat } = await readCheckpointText(dir)
  for (const [name, { size }] of Object.entries((await readManifest(dir)).files)) {
    const found = await stat(join(dir, name)).catch((cause: unknown) => {
      throw fileFault(join(dir, name), 'looking at it', cause)
    })
    if (found.size !== size)
      throw new CheckpointFault(
        'corrupt',
        `checkpoint ${dir}: ${name} has ${found.size} bytes, its manifest says ${size}`,
      )
  }
  return { architecture: await readArchitecture(dir), tokenizer, chat: state.chat, modelChat }
}

async function readHuggingFace(dir: string): Promise<PretrainedPolicy> {
  const outline = await readOutline(dir)
  const { architecture } = outline
  const tensors = await readTensors(dir, async (file) => (await readSafetensors(file)).tensors)
  const weights = weightsFrom(weightSpecs(architecture), tensors, dir)
  refuseOthers(dir, tensors.keys(), architecture)
  return { ...outline, weights }
}

/** The files of a model folder beside its weights. */
async function readOutline(dir: string): Promise<PolicyOutline> {
  const configFile = join(dir, 'config.json')
  const tokenizer = await readText(join(dir, 'tokenizer.json'))
  const architecture = withTokenless(parseArchitecture(await readText(configFile), configFile), tokenizer)
  const modelChat = await readModelChat(modelFilesIn(dir))
  return { architecture, tokenizer, chat: modelChat === undefined ? 'hermes' : 'jinja', modelChat }
}

function refuseOthers(dir: string, names: Iterable<string>, architecture: Architecture): void {
  const known = new Set(weightSpecs(architecture).map(({ name }) => name))
  for (const name of names)
    if (!known.has(name) && !isRedundant(name, architecture))
      throw new CheckpointFault(
        'foreign',
        `${dir}: tensor "${name}" has no place in the architecture of config.json`,
      )
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

/** The text of a file that may be missing. */
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
  const bytes = await readWhole(file)
  refuseLfsPointer(bytes, file)
  try {
    return decodeText(bytes, file)
  } catch (cause) {
    throw new CheckpointFault('corrupt', reasonOf(cause), { cause })
  }
}

/** Tensors of the one file, or of the shards that an index names. */
async function readTensors<T extends Pick<Tensor, 'shape'>>(
  dir: string,
  read: (file: string) => Promise<ReadonlyMap<string, T>>,
): Promise<ReadonlyMap<string, T>> {
  try {
    return await read(join(dir, 'model.safetensors'))
  } catch (cause) {
    if (!(cause instanceof CheckpointFault) || cause.kind !== 'missing') throw cause
  }
  const indexFile = join(dir, 'model.safetensors.index.json')
  let text: string
  try {
    text = await readText(indexFile)
  } catch (cause) {
    throw new CheckpointFault(
      'missing',
      `${dir}: neither model.safetensors nor its index is there${otherWeights(await namesIn(dir))}`,
      { cause },
    )
  }
  let shards: Record<string, string>
  try {
    shards = indexSchema.parse(JSON.parse(text)).weight_map
  } catch (cause) {
    throw new CheckpointFault('corrupt', `${indexFile}: no index of safetensors shards`, { cause })
  }
  const tensors = new Map<string, T>()
  for (const shard of [...new Set(Object.values(shards))].sort()) {
    if (shard !== basename(shard) || !shard.endsWith('.safetensors'))
      throw new CheckpointFault('corrupt', `${indexFile}: "${shard}" is no name of a shard in this folder`)
    for (const [name, tensor] of await read(join(dir, shard)))
      if (shards[name] === shard) tensors.set(name, tensor)
  }
  const absent = Object.keys(shards).find((name) => !tensors.has(name))
  if (absent !== undefined)
    throw new CheckpointFault('corrupt', `${indexFile}: tensor "${absent}" is not in ${shards[absent]}`)
  return tensors
}

/** The weights that are there in another format, with what to do. */
function otherWeights(names: readonly string[]): string {
  const others = names.filter((name) => /\.(bin|pt|pth|gguf|h5|msgpack)$/.test(name))
  return others.length === 0
    ? ''
    : `, only ${others.slice(0, 3).join(', ')}: download the model's safetensors, or load it with transformers and \`save_pretrained(folder, safe_serialization=True)\``
}
