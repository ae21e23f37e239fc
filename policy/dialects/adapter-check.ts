/**
 * The part of a server's check that is about adapters: they are loaded beside the model, several are in one batch, and they are unloaded.
 *
 * Invariants
 * - The adapters are made for the check, in a folder that is removed after it; the server reads them there.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { uniforms } from '../../identity/identity.ts'
import { readText } from '../../machine/files/text-file.ts'
import { renderAdapterConfig } from '../checkpoints/adapter-config.ts'
import { parseArchitecture } from '../checkpoints/architecture-config.ts'
import { adapterFiles } from '../checkpoints/manifest.ts'
import { tensorsOf } from '../checkpoints/named-weights.ts'
import { type Engine, EngineFault, type SamplingRequest } from '../engines/engine.ts'
import { writeSafetensors } from '../files/safetensors.ts'
import { type AdapterShape, adapterSpecs, initialAdapter } from '../transformer/adapter.ts'
import type { Architecture } from '../transformer/architecture.ts'

/** Large enough to move a policy that is sure of its tokens, small enough to leave it a policy. */
const size = 0.2
/** Targets that a run adapts by default are among these. */
const targets = ['q_proj', 'v_proj', 'down_proj'] as const

/** Adapters 1 and 2 of a model. */
export interface CheckedAdapters extends AsyncDisposable {
  readonly vocabulary: number
  dirOf(version: number): string
}

/** Writes two adapters over the model of a folder. @throws CheckpointFault */
export async function makeAdapters(modelDir: string, rank: number): Promise<CheckedAdapters> {
  const file = join(modelDir, 'config.json')
  const architecture = parseArchitecture(await readText(file), file)
  const folder = await mkdtemp(join(tmpdir(), 'perdure-adapters-'))
  const dirOf = (version: number) => join(folder, String(version))
  const shape: AdapterShape = { rank, alpha: rank, targets }
  for (const version of [1, 2]) await writeAdapter(dirOf(version), architecture, shape, version)
  return {
    vocabulary: architecture.vocab_size,
    dirOf,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

async function writeAdapter(
  dir: string,
  architecture: Architecture,
  shape: AdapterShape,
  seed: number,
): Promise<void> {
  await mkdir(dir)
  const next = uniforms(seed)
  const weights = new Map(
    [...initialAdapter(architecture, shape, seed)].map(([name, data]) => [
      name,
      name.endsWith('.lora_B.weight') ? data.map(() => size * (next() - 0.5)) : data,
    ]),
  )
  await writeFile(join(dir, adapterFiles.config), renderAdapterConfig(shape))
  const tensors = tensorsOf(adapterSpecs(architecture, shape), weights, '', dir)
  await writeSafetensors(join(dir, adapterFiles.weights), tensors, { format: 'pt' })
}

/** The requests that are tried, in this order, with an engine whose versions 1 and 2 are the adapters. */
export function adapterLooks(
  adapters: CheckedAdapters,
  request: (change: Partial<SamplingRequest>) => SamplingRequest,
): Readonly<Record<string, (engine: Engine) => Promise<string>>> {
  return {
    'an adapter is loaded': async (engine) => {
      await engine.load(1, adapters.dirOf(1))
      return `${(await engine.sample(request({ version: 1 }))).tokens.length} tokens`
    },
    'several adapters in one batch answer as each does alone': async (engine) => {
      await engine.load(2, adapters.dirOf(2))
      const both = await Promise.all(
        [1, 2].map((version) => engine.sample(request({ version, cacheKey: `${version}` }))),
      )
      if (both[0]?.logprobs.join() === both[1]?.logprobs.join())
        throw new EngineFault('another_model', 'two different adapters have the same logprobs')
      return `${both.length} versions`
    },
    'adapters are unloaded, and loaded again': async (engine) => {
      await engine.unload(1)
      await engine.load(1, adapters.dirOf(1))
      await engine.unload(1)
      await engine.unload(2)
      return ''
    },
  }
}
