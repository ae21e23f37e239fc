/**
 * The tokenizers of runs: all versions of a run have one.
 *
 * Invariants
 * - A run of which no checkpoint is kept has none, and its tokens are shown as numbers.
 * - The latest few are kept.
 */
import { join } from 'node:path'
import type { RunId } from '../../identity/identity.ts'
import { readCheckpointText } from '../../policy/checkpoints/checkpoint.ts'
import { checkpointDir, publishedVersions } from '../../policy/checkpoints/versions.ts'
import { CheckpointFault } from '../../policy/files/checkpoint-fault.ts'
import { Tokenizer } from '../../policy/tokenizer/tokenizer.ts'
import type { Home } from '../../storage/disk/home.ts'

const mostKept = 2

export interface RunTokenizers {
  of(run: RunId): Promise<Tokenizer | undefined>
}

export function createRunTokenizers(home: Home): RunTokenizers {
  const kept = new Map<RunId, Tokenizer>()
  return {
    async of(run) {
      const known = kept.get(run)
      if (known !== undefined) return known
      const found = await tokenizerIn(home.run(run).checkpointsDir)
      if (found === undefined) return undefined
      kept.set(run, found)
      for (const oldest of kept.keys()) {
        if (kept.size <= mostKept) break
        kept.delete(oldest)
      }
      return found
    },
  }
}

/** The tokenizer of the oldest version that has a good one. */
async function tokenizerIn(root: string): Promise<Tokenizer | undefined> {
  for (const version of await publishedVersions(root)) {
    const folder = checkpointDir(root, version)
    try {
      const { tokenizer } = await readCheckpointText(folder)
      return Tokenizer.parse(tokenizer, join(folder, 'tokenizer.json'))
    } catch (error) {
      // Retention may remove it while it is read, and a broken one has a neighbour.
      if (!(error instanceof CheckpointFault)) throw error
    }
  }
  return undefined
}
