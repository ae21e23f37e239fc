/**
 * The inputs of a warm start as one key: two with the same key give the same bytes.
 *
 * Invariants
 * - [WARM-KEY-1] Data, environments, experts, tokenizer and first weights count by what they made: the demonstrations' tokens
 *   and the first checkpoint. The name of the run and its home do not count.
 * - [WARM-KEY-2] Corrections are played after the first parts, so they count by what they are made with: the settings of the episodes, and
 *   the code of policy, expert and environments.
 * - [WARM-KEY-3] An environment that is not Perdure's own counts by its module, what that imports, its program and its data.
 * - The trainer counts by its code, its settings, its number of threads, and the processor that rounds for it.
 */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { RunConfig } from '../../config/schema/schema.ts'
import type { EnvironmentDefinition } from '../../envs/contract/environment.ts'
import { environmentDigest } from '../../envs/external/environment-sources.ts'
import { manifestFile } from '../../policy/checkpoints/manifest.ts'
import { digestFile } from '../../policy/files/durable-file.ts'
import { codeOf, trainerCode } from '../../policy/trainer/foreign/trainer-code.ts'
import type { WarmStartRequest } from '../../policy/trainer/trainer.ts'

/** The request of each part of a warm start, without the part. */
export type WarmStartSettings = Omit<
  WarmStartRequest,
  'demonstrationsFile' | 'fromCheckpointDir' | 'toCheckpointDir' | 'firstStep' | 'steps'
>

interface WarmStartSources {
  readonly firstDir: string
  readonly demonstrationsFile: string
  readonly settings: WarmStartSettings
  /** Each part ends with a checkpoint that says how it went. */
  readonly chunks: number
  readonly threads: number
  /** Settings of a warm start that corrects the policy; undefined: it does not. */
  readonly corrected?: Pick<RunConfig, 'seed' | 'tasks' | 'rollout' | 'policy' | 'warmStart'> | undefined
  /** [tasks] The environment of each task; read where the policy is corrected. */
  readonly environments?: readonly Pick<EnvironmentDefinition, 'sources'>[]
}

export async function warmStartKey(sources: WarmStartSources): Promise<string> {
  const { firstDir, demonstrationsFile, settings, chunks, threads, corrected, environments } = sources
  const parts = {
    trainer: await trainerCode(),
    ...(corrected && { corrected: await correctionsOf(corrected, environments) }),
    first: (await digestFile(join(firstDir, manifestFile))).sha256,
    demonstrations: (await digestFile(demonstrationsFile)).sha256,
    settings,
    chunks,
    threads,
  }
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}

async function correctionsOf(
  {
    seed,
    tasks,
    rollout: { maxTokensPerTurn },
    policy: { contextLength },
    warmStart: { demonstrations, corrections },
  }: NonNullable<WarmStartSources['corrected']>,
  environments: WarmStartSources['environments'] = [],
) {
  const played = { seed, tasks, maxTokensPerTurn, contextLength, demonstrations, corrections }
  const sources = await Promise.all(
    tasks.map(({ from, data }, index) =>
      environmentDigest({ from, data, definition: environments[index] ?? {} }),
    ),
  )
  return { ...played, sources, code: await codeOf(['activities', 'envs', 'messages', 'worlds']) }
}
