/**
 * How far what a turn says of its tokens is from the weights of the version of each.
 *
 * Invariants
 * - Every token is held against one version, that of its span.
 */
import { tokenVersions } from '../../learning/run/version-spans.ts'
import type { SampledTokens, SamplingRequest } from '../engines/engine.ts'
import { createTrainer } from '../trainer/embedded.ts'

/** [tokens] differences of logprobs. @param dirOf the checkpoint of a version */
export async function spanDifferences(
  asked: Pick<SamplingRequest, 'context' | 'temperature'>,
  sampled: Pick<SampledTokens, 'version' | 'tokens' | 'logprobs'> & Parameters<typeof tokenVersions>[0],
  dirOf: (version: number) => string,
): Promise<readonly number[]> {
  const versions = tokenVersions(sampled)
  const before = asked.context.length
  const tokens = Int32Array.of(...asked.context, ...sampled.tokens)
  const differences: number[] = Array.from(versions, () => Number.NaN)
  const trainer = createTrainer({ threads: 1 })
  try {
    for (const version of new Set(versions)) {
      const own = await trainer.logprobs({
        ...{ checkpointDir: dirOf(version), tokens, offsets: Int32Array.of(0, tokens.length) },
        lossMask: Uint8Array.from(tokens, (_, at) => (at < before ? 0 : 1)),
        ...{ temperature: asked.temperature, microBatchTokens: 4096 },
      })
      for (const [at, logprob] of sampled.logprobs.entries())
        if (versions[at] === version) differences[at] = Math.abs(logprob - (own[before + at] ?? Number.NaN))
    }
    return differences
  } finally {
    await trainer.close()
  }
}
