/**
 * A checkpoint: a folder that holds one version of a policy.
 *
 * Layout: `model.safetensors`, `optimizer.safetensors` (where training continues from it), `config.json`,
 * `tokenizer.json`, `state.json`, and `manifest.json` with the name, size and SHA-256 of each other file.
 *
 * Invariants
 * - [CHECKPOINT-1] A checkpoint exists when its manifest does; under its final name the folder is complete from the
 *   start.
 * - [CHECKPOINT-2] Publishing twice keeps the first: a complete checkpoint is never overwritten.
 * - [CHECKPOINT-3] No byte that differs from what was published is ever used: a reader names the file and the
 *   checkpoint.
 * - [CHECKPOINT-4] The same content gives the same bytes.
 */
import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { z } from 'zod'
import type { JsonObject } from '../../messages/message.ts'
import { type Architecture, elementCount, type Weights, weightSpecs } from '../transformer/architecture.ts'
import { parseArchitecture, renderArchitecture } from './architecture-config.ts'
import { CheckpointFault, writingFault } from './checkpoint-fault.ts'
import {
  digestFile,
  digestOf,
  type FileDigest,
  flushFolder,
  nameBeside,
  readWhole,
  removeAbandoned,
  writeDurably,
} from './durable-file.ts'
import { asFloat32, parseSafetensors, type Tensor, writeSafetensors } from './safetensors.ts'

/** How a policy reads and writes conversations; see `policy/chat`. */
const chatFormats = ['hermes', 'compact'] as const
export type ChatFormat = (typeof chatFormats)[number]

/** What a checkpoint says of itself. */
export interface CheckpointState {
  /** The policy version. */
  readonly version: number
  /** Optimizer steps behind it. */
  readonly step: number
  readonly chat: ChatFormat
  /** What its maker wants to find again, e.g. statistics of the update. Times here change the bytes. */
  readonly facts: JsonObject
}

/** AdamW's running moments, one array per weight. */
interface OptimizerMoments {
  /** Steps taken, for bias correction. */
  readonly step: number
  readonly first: Weights
  readonly second: Weights
}

/** What is published. */
export interface CheckpointContent {
  readonly architecture: Architecture
  readonly weights: Weights
  /** The text of `tokenizer.json`, kept byte for byte. */
  readonly tokenizer: string
  readonly state: CheckpointState
  readonly optimizer?: OptimizerMoments | undefined
}

const stateSchema = z.strictObject({
  version: z.int().min(0),
  step: z.int().min(0),
  chat: z.enum(chatFormats),
  facts: z.record(z.string(), z.json()),
})

const requiredFiles = ['config.json', 'model.safetensors', 'state.json', 'tokenizer.json'] as const
const optimizerFile = 'optimizer.safetensors'
export const manifestFile = 'manifest.json'

const manifestSchema = z.strictObject({
  format: z.literal('perdure-checkpoint-1'),
  // A record of these keys would list the absent ones too, as undefined.
  files: z.partialRecord(
    z.enum([...requiredFiles, optimizerFile]),
    z.strictObject({ size: z.int().min(0), sha256: z.string().regex(/^[0-9a-f]{64}$/) }),
  ),
})
type Manifest = z.output<typeof manifestSchema>

/**
 * Publishes a checkpoint at once and whole. A complete and valid one that is there already is kept; a
 * broken one is replaced.
 * @returns whether this call published it
 * @throws CheckpointFault `foreign` for weights that do not fit the architecture; `io`
 */
export async function publishCheckpoint(dir: string, content: CheckpointContent): Promise<boolean> {
  const target = resolve(dir)
  if (await isComplete(target)) return false
  const root = dirname(target)
  const partial = nameBeside(target)
  try {
    await mkdir(partial)
    await writeContent(partial, target, content)
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
  } catch (cause) {
    await rm(partial, { recursive: true, force: true })
    throw writingFault(target, 'publishing the checkpoint', cause)
  }
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
  const { architecture, weights, optimizer } = content
  const state = stateSchema.safeParse(content.state)
  if (!state.success)
    throw new CheckpointFault('foreign', `${target}: state: ${state.error.issues[0]?.message}`, {
      cause: state.error,
    })
  const files: Record<string, FileDigest> = {
    'config.json': await writeDurably(join(partial, 'config.json'), [renderArchitecture(architecture)]),
    'model.safetensors': await writeSafetensors(
      join(partial, 'model.safetensors'),
      shaped(architecture, weights, '', target),
      { format: 'pt' },
    ),
  }
  if (optimizer !== undefined)
    files[optimizerFile] = await writeSafetensors(
      join(partial, optimizerFile),
      new Map([
        ...shaped(architecture, optimizer.first, 'first.', target),
        ...shaped(architecture, optimizer.second, 'second.', target),
      ]),
      { step: String(optimizer.step) },
    )
  files['state.json'] = await writeDurably(join(partial, 'state.json'), [
    `${JSON.stringify(state.data, null, 2)}\n`,
  ])
  files['tokenizer.json'] = await writeDurably(join(partial, 'tokenizer.json'), [content.tokenizer])
  await writeDurably(join(partial, manifestFile), [renderManifest({ format: 'perdure-checkpoint-1', files })])
}

function renderManifest(manifest: Manifest): string {
  const files = Object.fromEntries(Object.entries(manifest.files).sort(([a], [b]) => (a < b ? -1 : 1)))
  return `${JSON.stringify({ format: manifest.format, files }, null, 2)}\n`
}

function shaped(
  architecture: Architecture,
  weights: Weights,
  prefix: string,
  target: string,
): Map<string, Tensor> {
  const tensors = new Map<string, Tensor>()
  for (const { name, shape } of weightSpecs(architecture)) {
    const data = weights.get(name)
    if (data === undefined)
      throw new CheckpointFault('foreign', `${target}: weight "${prefix}${name}" is missing`)
    tensors.set(prefix + name, { dtype: 'F32', shape, data })
  }
  if (tensors.size !== weights.size)
    throw new CheckpointFault(
      'foreign',
      `${target}: ${weights.size} weights given, the architecture has ${tensors.size}`,
    )
  return tensors
}

async function readManifest(dir: string): Promise<Manifest> {
  const file = join(dir, manifestFile)
  let text: string
  try {
    text = Buffer.from(await readWhole(file)).toString('utf8')
  } catch (cause) {
    if (cause instanceof CheckpointFault && cause.kind === 'missing')
      throw new CheckpointFault('missing', `${dir}: no checkpoint here, it has no ${manifestFile}`, { cause })
    throw cause
  }
  let manifest: Manifest
  try {
    manifest = manifestSchema.parse(JSON.parse(text))
  } catch (cause) {
    throw new CheckpointFault('corrupt', `checkpoint ${dir}: ${manifestFile} is no manifest`, { cause })
  }
  const absent = requiredFiles.find((name) => manifest.files[name] === undefined)
  if (absent !== undefined)
    throw new CheckpointFault('corrupt', `checkpoint ${dir}: ${manifestFile} does not list ${absent}`)
  // The manifest has no checksum of its own: only its one canonical text is accepted.
  if (renderManifest(manifest) !== text)
    throw new CheckpointFault('corrupt', `checkpoint ${dir}: ${manifestFile} is not as it was written`)
  return manifest
}

function compareDigest(dir: string, name: string, expected: FileDigest | undefined, got: FileDigest): void {
  if (expected === undefined)
    throw new CheckpointFault('missing', `checkpoint ${dir}: it was published without ${name}`)
  if (got.size !== expected.size)
    throw new CheckpointFault(
      'corrupt',
      `checkpoint ${dir}: ${name} has ${got.size} bytes, its manifest says ${expected.size}`,
    )
  if (got.sha256 !== expected.sha256)
    throw new CheckpointFault(
      'corrupt',
      `checkpoint ${dir}: ${name} has SHA-256 ${got.sha256}, its manifest says ${expected.sha256}`,
    )
}

async function readVerified(
  dir: string,
  manifest: Manifest,
  name: keyof Manifest['files'],
): Promise<Uint8Array<ArrayBuffer>> {
  const expected = manifest.files[name]
  if (expected === undefined) compareDigest(dir, name, expected, { size: 0, sha256: '' })
  const bytes = await readWhole(join(dir, name))
  compareDigest(dir, name, expected, digestOf(bytes))
  return bytes
}

/**
 * Checks every file of a checkpoint against its manifest.
 * @returns what the checkpoint says of itself
 * @throws CheckpointFault `missing`, `corrupt`, `io`; the message names checkpoint and file
 */
export async function verifyCheckpoint(dir: string): Promise<CheckpointState> {
  const manifest = await readManifest(dir)
  for (const [name, expected] of Object.entries(manifest.files))
    compareDigest(dir, name, expected, await digestFile(join(dir, name)))
  return readState(dir, manifest)
}

/**
 * Size of a checkpoint's weights, as its manifest says.
 * @throws CheckpointFault `missing`, `corrupt`, `io`
 */
export async function weightBytes(dir: string): Promise<number> {
  const manifest = await readManifest(dir)
  return manifest.files['model.safetensors']?.size ?? 0
}

async function readState(dir: string, manifest: Manifest): Promise<CheckpointState> {
  const text = Buffer.from(await readVerified(dir, manifest, 'state.json')).toString('utf8')
  try {
    return stateSchema.parse(JSON.parse(text)) as CheckpointState
  } catch (cause) {
    throw new CheckpointFault('foreign', `checkpoint ${dir}: state.json is of another kind`, { cause })
  }
}

/**
 * Reads what a checkpoint says of itself and its tokenizer, both checked against the manifest.
 * @throws CheckpointFault `missing`, `corrupt`, `foreign`, `io`
 */
export async function readCheckpointText(
  dir: string,
): Promise<Pick<CheckpointContent, 'tokenizer' | 'state'>> {
  const manifest = await readManifest(dir)
  const bytes = await readVerified(dir, manifest, 'tokenizer.json')
  return {
    state: await readState(dir, manifest),
    tokenizer: new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes),
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
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  const config = decoder.decode(await readVerified(dir, manifest, 'config.json'))
  const architecture = parseArchitecture(config, join(dir, 'config.json'))
  const tokenizer = decoder.decode(await readVerified(dir, manifest, 'tokenizer.json'))
  const modelFile = join(dir, 'model.safetensors')
  const model = parseSafetensors(await readVerified(dir, manifest, 'model.safetensors'), modelFile)
  const weights = weightsFrom(architecture, model.tensors, modelFile)
  if (options.optimizer !== true) return { architecture, weights, tokenizer, state }
  const momentsFile = join(dir, optimizerFile)
  const moments = parseSafetensors(await readVerified(dir, manifest, optimizerFile), momentsFile)
  const optimizer: OptimizerMoments = {
    step: parseStep(moments.metadata.step, momentsFile),
    first: weightsFrom(architecture, moments.tensors, momentsFile, 'first.'),
    second: weightsFrom(architecture, moments.tensors, momentsFile, 'second.'),
  }
  return { architecture, weights, tokenizer, state, optimizer }
}

function parseStep(text: string | undefined, file: string): number {
  const step = Number(text)
  if (text === undefined || !Number.isSafeInteger(step) || step < 0)
    throw new CheckpointFault('foreign', `${file}: metadata "step" is ${text}, expected a count`)
  return step
}

/**
 * The architecture's weights, as Float32, from the tensors of one or several files.
 * @throws CheckpointFault `foreign` for missing weights, other shapes or integer types
 */
export function weightsFrom(
  architecture: Architecture,
  tensors: ReadonlyMap<string, Tensor>,
  file: string,
  prefix = '',
): Map<string, Float32Array> {
  const weights = new Map<string, Float32Array>()
  for (const { name, shape } of weightSpecs(architecture)) {
    const where = `${file}: tensor "${prefix}${name}"`
    const tensor = tensors.get(prefix + name)
    if (tensor === undefined)
      throw new CheckpointFault('foreign', `${where} is missing, but config.json calls for it`)
    if (tensor.data.length !== elementCount(shape) || tensor.shape.join() !== shape.join())
      throw new CheckpointFault(
        'foreign',
        `${where} has shape [${tensor.shape.join(', ')}], config.json calls for [${shape.join(', ')}]`,
      )
    weights.set(name, asFloat32(tensor, where))
  }
  return weights
}
