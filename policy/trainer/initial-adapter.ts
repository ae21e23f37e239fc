/**
 * The first version of a policy that is trained as an adapter: its base, with an adapter that changes nothing yet.
 *
 * Invariants
 * - The same base, shape and seed give the same bytes.
 * - It carries no moments and is at optimizer step 0, whatever is behind the base.
 */
import { basename, resolve } from 'node:path'
import { publishCheckpoint, readCheckpoint } from '../checkpoints/checkpoint.ts'
import { manifestHash } from '../checkpoints/manifest.ts'
import { type AdapterShape, initialAdapter } from '../transformer/adapter.ts'

/**
 * Publishes version 0 beside its base; one that is there already is kept.
 * @param baseDir a folder beside `dir`
 * @throws CheckpointFault
 */
export async function initializeAdapter(
  dir: string,
  { baseDir, shape, seed }: { readonly baseDir: string; readonly shape: AdapterShape; readonly seed: number },
): Promise<boolean> {
  const { architecture, weights, tokenizer, state, modelChat } = await readCheckpoint(baseDir)
  return publishCheckpoint(dir, {
    architecture,
    weights,
    adapter: {
      shape,
      weights: initialAdapter(architecture, shape, seed),
      base: { folder: basename(resolve(baseDir)), sha256: await manifestHash(baseDir) },
      baseWeights: weights,
    },
    tokenizer,
    modelChat,
    state: { version: 0, step: 0, chat: state.chat, facts: { kind: 'adapter', seed } },
  })
}
