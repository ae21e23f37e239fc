/**
 * The manifest of a checkpoint: its files with their checksums, and for an adapter the base that it changes.
 *
 * Invariants
 * - [MANIFEST-1] A manifest has one canonical text, because it has no checksum of its own.
 * - Files that are read through it are the very bytes that were published.
 * - A base lies beside its adapters and is named by the SHA-256 of its own manifest, hence by every byte of it.
 */
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { CheckpointFault } from '../files/checkpoint-fault.ts'
import { digestOf, type FileDigest, readWhole } from '../files/durable-file.ts'

export const manifestFile = 'manifest.json'

const commonFiles = ['config.json', 'state.json', 'tokenizer.json'] as const
/** Weights of a whole policy, and what an adapter has in their place. */
export const modelFile = 'model.safetensors'
export const adapterFiles = { config: 'adapter_config.json', weights: 'adapter_model.safetensors' } as const

/** No path, no hidden file, and not the manifest itself. */
const fileName = z.string().regex(/^(?!manifest\.json$)[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/)
const sha256 = z.string().regex(/^[0-9a-f]{64}$/)

const manifestSchema = z.strictObject({
  format: z.literal('perdure-checkpoint-1'),
  base: z.strictObject({ folder: fileName, sha256 }).optional(),
  files: z.record(fileName, z.strictObject({ size: z.int().min(0), sha256 })),
})
export type Manifest = z.output<typeof manifestSchema>

/** The base of an adapter: a folder beside the checkpoint's, and the SHA-256 of that one's manifest. */
export type BaseReference = NonNullable<Manifest['base']>

export function renderManifest({ format, base, files }: Manifest): string {
  const sorted = Object.fromEntries(Object.entries(files).sort(([a], [b]) => (a < b ? -1 : 1)))
  const named = base && { folder: base.folder, sha256: base.sha256 }
  return `${JSON.stringify({ format, base: named, files: sorted }, null, 2)}\n`
}

/** The manifest of a checkpoint. @throws CheckpointFault `missing`, `corrupt`, `io` */
export async function readManifest(dir: string): Promise<Manifest> {
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
  const ofModel = manifest.base === undefined ? [modelFile] : Object.values(adapterFiles)
  const absent = [...commonFiles, ...ofModel].find((name) => manifest.files[name] === undefined)
  if (absent !== undefined)
    throw new CheckpointFault('corrupt', `checkpoint ${dir}: ${manifestFile} does not list ${absent}`)
  if (renderManifest(manifest) !== text)
    throw new CheckpointFault('corrupt', `checkpoint ${dir}: ${manifestFile} is not as it was written`)
  return manifest
}

/** The SHA-256 of a checkpoint's manifest. @throws CheckpointFault `missing`, `corrupt`, `io` */
export async function manifestHash(dir: string): Promise<string> {
  return digestOf(Buffer.from(renderManifest(await readManifest(dir)))).sha256
}

/**
 * The folder of an adapter's base.
 * @throws CheckpointFault `missing`, `io`; `corrupt` where another checkpoint is there
 */
export async function baseDirOf(dir: string, { folder, sha256: expected }: BaseReference): Promise<string> {
  const baseDir = join(dirname(dir), folder)
  const found = await manifestHash(baseDir)
  if (found !== expected)
    throw new CheckpointFault(
      'corrupt',
      `checkpoint ${dir}: its base ${baseDir} has a manifest with SHA-256 ${found}, expected ${expected}; put the base back that it was trained on`,
    )
  return baseDir
}

/** @throws CheckpointFault `missing` for a file that is not listed, `corrupt` for another one than listed */
export function compareDigest(
  dir: string,
  name: string,
  expected: FileDigest | undefined,
  got: FileDigest,
): void {
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

/** The bytes of a file as they were published. @throws CheckpointFault `missing`, `corrupt`, `io` */
export async function readVerified(
  dir: string,
  manifest: Manifest,
  name: string,
): Promise<Uint8Array<ArrayBuffer>> {
  const expected = manifest.files[name]
  if (expected === undefined) compareDigest(dir, name, expected, { size: 0, sha256: '' })
  const bytes = await readWhole(join(dir, name))
  compareDigest(dir, name, expected, digestOf(bytes))
  return bytes
}
