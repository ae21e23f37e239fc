/**
 * A checkpoint: a folder that holds one version of a policy.
 *
 * Layout: `model.safetensors`, or for an adapter over a base beside it `adapter_model.safetensors` and `adapter_config.json` as PEFT
 * has them, `optimizer.safetensors` (where training continues from it), `config.json`, `tokenizer.json`, `state.json`, `generation_config.json`, `tokenizer_config.json` and `chat_template.jinja` for other programs, files of the
 * trainer's own such as a divided optimizer state, and `manifest.json` with the
 * name, size and SHA-256 of each other file.
 *
 * Invariants
 * - [CHECKPOINT-1] A checkpoint exists when its manifest does; under its final name the folder is complete from the
 *   start.
 * - [CHECKPOINT-2] Publishing twice keeps the first: a complete checkpoint is never overwritten.
 * - [CHECKPOINT-3] No byte that differs from what was published is ever used: a reader names the file and the
 *   checkpoint.
 * - [CHECKPOINT-4] The same content gives the same bytes.
 * - [CHECKPOINT-5] The weights of an adapter's checkpoint are those of its base with the adapter merged; it is whole only beside
 *   the very base that it was trained on.
 */
import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { z } from 'zod'
import { flushFile, flushFolder, nameBeside, removeAbandoned } from '../../machine/processes/partial-file.ts'
import type { JsonObject } from '../../messages/message.ts'
import { CheckpointFault, writingFault } from '../files/checkpoint-fault.ts'
import { digestFile, type FileDigest, writeDurably } from '../files/durable-file.ts'
import { parseSafetensors, writeSafetensors } from '../files/safetensors.ts'
import { type ChatFormat, chatFormats } from '../templates/chat-format.ts'
import { type ModelChat, readModelChat } from '../templates/model-chat.ts'
import { type AdapterShape, adapterSpecs, mergedWeights } from '../transformer/adapter.ts'
import { type Architecture, type WeightSpec, type Weights, weightSpecs } from '../transformer/architecture.ts'
import { parseAdapterConfig, renderAdapterConfig } from './adapter-config.ts'
import { parseArchitecture, renderArchitecture, withTokenless } from './architecture-config.ts'
import {
  adapterFiles,
  type BaseReference,
  baseDirOf,
  compareDigest,
  type Manifest,
  manifestFile,
  modelFile,
  readManifest,
  readVerified,
  renderManifest,
} from './manifest.ts'
import { tensorsOf, weightsFrom } from './named-weights.ts'
import { servingFiles } from './serving-files.ts'

/** A checkpoint's own description. */
export interface CheckpointState {
  /** The policy version. */
  readonly version: number
  /** Optimizer steps behind it. */
  readonly step: number
  readonly chat: ChatFormat
  /** Facts that its maker wants to find again, e.g. statistics of the update. Times here change the bytes. */
  readonly facts: JsonObject
}

/** The difference of a version from its base. */
export interface CheckpointAdapter {
  readonly shape: AdapterShape
  /** Under PEFT's names. */
  readonly weights: Weights
  readonly base: BaseReference
  /** The base's own weights. */
  readonly baseWeights: Weights
}

/** AdamW's running moments, one array per weight that is trained: those of the adapter where there is one. */
interface OptimizerMoments {
  /** Steps taken, for bias correction. */
  readonly step: number
  readonly first: Weights
  readonly second: Weights
}

/** The content of a published checkpoint. */
export interface CheckpointContent {
  readonly architecture: Architecture
  /** The weights of the policy; an adapter is merged into them. */
  readonly weights: Weights
  readonly adapter?: CheckpointAdapter | undefined
  /** The text of `tokenizer.json`, kept byte for byte. */
  readonly tokenizer: string
  readonly state: CheckpointState
  /** Where the format is `jinja`: how the model talks, as its publisher gave it. */
  readonly modelChat?: ModelChat | undefined
  readonly optimizer?: OptimizerMoments | undefined
}

const stateSchema = z.strictObject({
  version: z.int().min(0),
  step: z.int().min(0),
  chat: z.enum(chatFormats),
  facts: z.record(z.string(), z.json()),
})

const optimizerFile = 'optimizer.safetensors'

/**
 * Publishes a checkpoint at once and whole. A complete and valid one that is there already is kept; a
 * broken one is replaced.
 * @returns whether this call published it
 * @throws CheckpointFault `foreign` for weights that do not fit the architecture; `io`
 */
export async function publishCheckpoint(dir: string, content: CheckpointContent): Promise<boolean> {
  const target = resolve(dir)
  if (await isComplete(target)) return false
  const partial = nameBeside(target)
  try {
    await mkdir(partial)
    await writeContent(partial, target, content)
    return await moveIntoPlace(partial, target)
  } catch (cause) {
    await rm(partial, { recursive: true, force: true })
    throw writingFault(target, 'publishing the checkpoint', cause)
  }
}

/**
 * Publishes a complete checkpoint that another program has written elsewhere on the same file system, by moving its folder.
 * A checkpoint that is there already is kept.
 * @returns whether this call published it
 * @throws CheckpointFault `missing`, `corrupt`, `io`
 */
export async function adoptCheckpoint(from: string, dir: string): Promise<boolean> {
  const target = resolve(dir)
  try {
    const { files } = await readManifest(from)
    for (const name of [...Object.keys(files), manifestFile]) await flushFile(join(from, name))
    return (await isComplete(target)) ? false : await moveIntoPlace(from, target)
  } catch (cause) {
    throw writingFault(target, 'publishing the checkpoint', cause)
  }
}

/** Gives a complete folder its name, unless a complete checkpoint has it already. */
async function moveIntoPlace(partial: string, target: string): Promise<boolean> {
  const root = dirname(target)
  await flushFolder(partial)
  for (;;) {
    try {
      await rename(partial, target)
      break
    } catch (cause) {
      if (!isOccupied(cause)) throw cause
      if (await isComplete(target)) {
        await rm(partial, { recursive: true, force: true })
        return false
      }
      await rm(target, { recursive: true, force: true })
    }
  }
  await flushFolder(root)
  await removeAbandoned(root)
  return true
}

function isOccupied(cause: unknown): boolean {
  const code = (cause as NodeJS.ErrnoException).code
  return code === 'ENOTEMPTY' || code === 'EEXIST' || code === 'ENOTDIR'
}

async function isComplete(dir: string): Promise<boolean> {
  try {
    await verifyCheckpoint(dir)
    return true
  } catch (cause) {
    if (cause instanceof CheckpointFault && cause.kind !== 'io') return false
    throw cause
  }
}

async function writeContent(partial: string, target: string, content: CheckpointContent): Promise<void> {
  const { architecture, adapter, optimizer } = content
  const state = renderState(content.state, target)
  if (content.state.chat === 'jinja' && content.modelChat === undefined)
    throw new CheckpointFault('foreign', `${target}: state.chat is "jinja", and no template is given`)
  const specs = trainedSpecs(architecture, adapter?.shape)
  const files: Record<string, FileDigest> = {
    'config.json': await writeDurably(join(partial, 'config.json'), [renderArchitecture(architecture)]),
  }
  if (adapter !== undefined)
    files[adapterFiles.config] = await writeDurably(join(partial, adapterFiles.config), [
      renderAdapterConfig(adapter.shape),
    ])
  const { weights } = adapter ?? content
  const weightsFile = adapter === undefined ? modelFile : adapterFiles.weights
  files[weightsFile] = await writeSafetensors(
    join(partial, weightsFile),
    tensorsOf(specs, weights, '', target),
    { format: 'pt' },
  )
  if (optimizer !== undefined)
    files[optimizerFile] = await writeSafetensors(
      join(partial, optimizerFile),
      new Map([
        ...tensorsOf(specs, optimizer.first, 'first.', target),
        ...tensorsOf(specs, optimizer.second, 'second.', target),
      ]),
      { step: String(optimizer.step) },
    )
  files['state.json'] = await writeDurably(join(partial, 'state.json'), [state])
  files['tokenizer.json'] = await writeDurably(join(partial, 'tokenizer.json'), [content.tokenizer])
  const ofServers = servingFiles(architecture, content.tokenizer, {
    chat: content.state.chat,
    modelChat: content.modelChat,
  })
  for (const [name, text] of Object.entries(ofServers))
    files[name] = await writeDurably(join(partial, name), [text])
  const manifest = { format: 'perdure-checkpoint-1', base: adapter?.base, files } as const
  await writeDurably(join(partial, manifestFile), [renderManifest(manifest)])
}

/** The text of `state.json`. @param target named in faults @throws CheckpointFault `foreign` */
export function renderState(state: CheckpointState, target: string): string {
  const parsed = stateSchema.safeParse(state)
  if (parsed.success) return `${JSON.stringify(parsed.data, null, 2)}\n`
  throw new CheckpointFault('foreign', `${target}: state: ${parsed.error.issues[0]?.message}`, {
    cause: parsed.error,
  })
}

/** The weights that training changes: an adapter, or all. */
function trainedSpecs(architecture: Architecture, shape: AdapterShape | undefined): readonly WeightSpec[] {
  return shape === undefined ? weightSpecs(architecture) : adapterSpecs(architecture, shape)
}

/**
 * Checks every file of a checkpoint against its manifest, and those of an adapter's base.
 * @returns what the checkpoint says of itself
 * @throws CheckpointFault `missing`, `corrupt`, `io`; the message names checkpoint and file
 */
export async function verifyCheckpoint(dir: string): Promise<CheckpointState> {
  const manifest = await readManifest(dir)
  for (const [name, expected] of Object.entries(manifest.files))
    compareDigest(dir, name, expected, await digestFile(join(dir, name)))
  if (manifest.base !== undefined) await verifyCheckpoint(await baseDirOf(resolve(dir), manifest.base))
  return readState(dir, manifest)
}

/**
 * The shape of a checkpoint's policy.
 * @throws CheckpointFault `missing`, `corrupt`, `foreign`, `io`
 */
export async function readArchitecture(dir: string): Promise<Architecture> {
  const manifest = await readManifest(dir)
  return architectureOf(dir, manifest, await tokenizerOf(dir, manifest))
}

async function architectureOf(dir: string, manifest: Manifest, tokenizer: string): Promise<Architecture> {
  const config = Buffer.from(await readVerified(dir, manifest, 'config.json')).toString('utf8')
  return withTokenless(parseArchitecture(config, join(dir, 'config.json')), tokenizer)
}

async function tokenizerOf(dir: string, manifest: Manifest): Promise<string> {
  const bytes = await readVerified(dir, manifest, 'tokenizer.json')
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
}

/**
 * Size of a policy's weights, those of an adapter's base, as its manifest says.
 * @throws CheckpointFault `missing`, `corrupt`, `io`
 */
export async function weightBytes(dir: string): Promise<number> {
  const { base, files } = await readManifest(dir)
  return base === undefined ? (files[modelFile]?.size ?? 0) : weightBytes(await baseDirOf(resolve(dir), base))
}

async function readState(dir: string, manifest: Manifest): Promise<CheckpointState> {
  const text = Buffer.from(await readVerified(dir, manifest, 'state.json')).toString('utf8')
  try {
    return stateSchema.parse(JSON.parse(text)) as CheckpointState
  } catch (cause) {
    throw new CheckpointFault('foreign', `checkpoint ${dir}: state.json is of another kind`, { cause })
  }
}

/** How a model of the format `jinja` talks, from the files that were published. */
async function modelChatOf(
  dir: string,
  manifest: Manifest,
  { chat }: CheckpointState,
): Promise<ModelChat | undefined> {
  if (chat !== 'jinja') return undefined
  return await readModelChat({
    text: async (name) =>
      manifest.files[name] === undefined
        ? undefined
        : new TextDecoder('utf-8', { ignoreBOM: true }).decode(await readVerified(dir, manifest, name)),
    list: async () => [],
  })
}

/**
 * Reads what a checkpoint says of itself, its tokenizer and how it talks, all checked against the manifest.
 * @throws CheckpointFault `missing`, `corrupt`, `foreign`, `io`
 */
export async function readCheckpointText(
  dir: string,
): Promise<Pick<CheckpointContent, 'tokenizer' | 'state' | 'modelChat'>> {
  const manifest = await readManifest(dir)
  const tokenizer = await tokenizerOf(dir, manifest)
  const state = await readState(dir, manifest)
  return {
    state,
    tokenizer,
    modelChat: await modelChatOf(dir, manifest, state),
  }
}

/**
 * Reads a checkpoint; every file used is checked against the manifest.
 * @param options.optimizer whether to read the moments too
 * @throws CheckpointFault `missing` (also for moments that were not published), `corrupt`, `foreign`, `io`
 */
export async function readCheckpoint(
  dir: string,
  options: { readonly optimizer?: boolean } = {},
): Promise<CheckpointContent> {
  const manifest = await readManifest(dir)
  const state = await readState(dir, manifest)
  const tokenizer = await tokenizerOf(dir, manifest)
  const modelChat = await modelChatOf(dir, manifest, state)
  const talking = modelChat === undefined ? { tokenizer, state } : { tokenizer, state, modelChat }
  const policy = await readPolicy(dir, manifest, tokenizer)
  if (options.optimizer !== true) return { ...policy, ...talking }
  const specs = trainedSpecs(policy.architecture, policy.adapter?.shape)
  const momentsFile = join(dir, optimizerFile)
  const moments = parseSafetensors(await readVerified(dir, manifest, optimizerFile), momentsFile)
  const optimizer: OptimizerMoments = {
    step: parseStep(moments.metadata.step, momentsFile),
    first: weightsFrom(specs, moments.tensors, momentsFile, 'first.'),
    second: weightsFrom(specs, moments.tensors, momentsFile, 'second.'),
  }
  return { ...policy, ...talking, optimizer }
}

/** The weights of a policy, and the adapter that is merged into them. */
async function readPolicy(
  dir: string,
  manifest: Manifest,
  tokenizer: string,
): Promise<Pick<CheckpointContent, 'architecture' | 'weights' | 'adapter'>> {
  const architecture = await architectureOf(dir, manifest, tokenizer)
  if (manifest.base === undefined)
    return { architecture, weights: await readTensors(dir, manifest, modelFile, weightSpecs(architecture)) }
  const { base } = manifest
  const { weights: baseWeights } = await readCheckpoint(await baseDirOf(resolve(dir), base))
  const config = Buffer.from(await readVerified(dir, manifest, adapterFiles.config)).toString('utf8')
  const shape = parseAdapterConfig(config, join(dir, adapterFiles.config))
  const specs = adapterSpecs(architecture, shape)
  const weights = await readTensors(dir, manifest, adapterFiles.weights, specs)
  const adapter = { shape, weights, base, baseWeights }
  return { architecture, weights: mergedWeights(architecture, baseWeights, adapter), adapter }
}

async function readTensors(
  dir: string,
  manifest: Manifest,
  name: string,
  specs: readonly WeightSpec[],
): Promise<Map<string, Float32Array>> {
  const file = join(dir, name)
  return weightsFrom(specs, parseSafetensors(await readVerified(dir, manifest, name), file).tensors, file)
}

function parseStep(text: string | undefined, file: string): number {
  const step = Number(text)
  if (text === undefined || !Number.isSafeInteger(step) || step < 0)
    throw new CheckpointFault('foreign', `${file}: metadata "step" is ${text}, expected a count`)
  return step
}
