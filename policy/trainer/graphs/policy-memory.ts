/**
 * Policies kept in memory between updates, to save reading them again.
 *
 * Invariants
 * - A cache only: what it gives equals, byte for byte, what reading the folder gives.
 * - A policy taken out is not there for another until it is put back, so a failed update leaves nothing.
 */
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { readCheckpoint } from '../../checkpoints/checkpoint.ts'
import { manifestFile } from '../../checkpoints/manifest.ts'
import type { Architecture } from '../../transformer/architecture.ts'
import type { ObjectiveSettings } from '../trainer.ts'
import { TrainingPolicy } from '../update/training-policy.ts'
import { shared } from './gradient-sum.ts'
import { type WeightFeeds, weightFeeds } from './graph-sessions.ts'

/** A policy that is only evaluated. */
export interface FrozenPolicy {
  readonly architecture: Architecture
  readonly feeds: WeightFeeds
}

interface Remembered<Policy> {
  readonly dir: string
  /** The manifest lists a checksum of every file: the same text means the same checkpoint. */
  readonly manifest: string
  readonly policy: Policy
}

export class PolicyMemory {
  #training: Remembered<TrainingPolicy> | undefined
  #frozen: Remembered<FrozenPolicy> | undefined

  /** The policy of a checkpoint, ready to be trained; the caller owns it. @throws CheckpointFault */
  async take(dir: string, objective: ObjectiveSettings['kind']): Promise<TrainingPolicy> {
    const known = this.#training
    this.#training = undefined
    if (known !== undefined && (await isSame(known, dir))) {
      known.policy.pursue(objective)
      return known.policy
    }
    return TrainingPolicy.read(dir, objective)
  }

  /** Keeps a policy that was just published to the folder. */
  async put(dir: string, policy: TrainingPolicy): Promise<void> {
    const manifest = await manifestText(dir)
    this.#training = manifest === undefined ? undefined : { dir: resolve(dir), manifest, policy }
  }

  /** The weights of a checkpoint, not to be changed. @throws CheckpointFault */
  async frozen(dir: string): Promise<FrozenPolicy> {
    if (this.#frozen !== undefined && (await isSame(this.#frozen, dir))) return this.#frozen.policy
    this.#frozen = undefined
    const manifest = await manifestText(dir)
    const { architecture, weights } = await readCheckpoint(dir)
    const own = new Map([...weights].map(([name, weight]) => [name, shared(weight)]))
    const policy = { architecture, feeds: weightFeeds(architecture, own) }
    if (manifest !== undefined) this.#frozen = { dir: resolve(dir), manifest, policy }
    return policy
  }
}

async function isSame(known: Remembered<unknown>, dir: string): Promise<boolean> {
  return known.dir === resolve(dir) && known.manifest === (await manifestText(dir))
}

async function manifestText(dir: string): Promise<string | undefined> {
  try {
    return await readFile(join(dir, manifestFile), 'utf8')
  } catch {
    return undefined // the reader of the checkpoint says what is wrong with it
  }
}
