/** A home with a run that keeps the versions 0 and 3, or others, of a policy of a few numbers, for tests of what serves it. */
import { mkdir, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { configSchema } from '../../config/schema/schema.ts'
import { runId } from '../../identity/identity.ts'
import { publishCheckpoint, readCheckpoint } from '../../policy/checkpoints/checkpoint.ts'
import { compactAddedTokens } from '../../policy/templates/compact-template.ts'
import { trainTokenizer } from '../../policy/tokenizer/byte-pair-training.ts'
import { Tokenizer } from '../../policy/tokenizer/tokenizer.ts'
import { initializeCheckpoint } from '../../policy/trainer/initial-checkpoint.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { openStore } from '../../storage/store.ts'

/** @returns the folder of the home */
export async function homeWithRun(name: string, later: readonly number[] = [3]): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'perdure-serve-'))
  const at = homeAt(home)
  const config = configSchema.parse({ policy: { contextLength: 256, threads: 1 } })
  {
    await using store = await openStore(at.storeFile)
    await store.runs.insert({ id: runId(name), config, created: 1 })
  }
  await mkdir(at.run(runId(name)).checkpointsDir, { recursive: true })
  const tokenizer = trainTokenizer(['look around the room', 'take the lamp'], {
    vocabularySize: 320,
    addedTokens: compactAddedTokens([]),
  })
  const { vocabularySize } = Tokenizer.parse(tokenizer)
  const dir = at.run(runId(name)).checkpointDir(0)
  await initializeCheckpoint(dir, {
    architecture: {
      vocab_size: vocabularySize,
      hidden_size: 16,
      intermediate_size: 24,
      num_hidden_layers: 1,
      num_attention_heads: 2,
      num_key_value_heads: 1,
      head_dim: 8,
      rope_theta: 10000,
      rms_norm_eps: 1e-5,
      tie_word_embeddings: true,
      max_position_embeddings: 256,
    },
    tokenizer,
    chat: 'compact',
    seed: 1,
  })
  const content = await readCheckpoint(dir)
  for (const version of later)
    await publishCheckpoint(at.run(runId(name)).checkpointDir(version), {
      ...content,
      state: { ...content.state, version },
    })
  return home
}
