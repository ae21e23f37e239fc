/**
 * The entropy bonus of an update: its coefficient, and the bounds of algorithms that smooth the entropy.
 *
 * Invariants
 * - [ENTROPY-BONUS-1] They follow from settings and the stored figures of the updates before, so that an update that is done again
 *   asks its trainer for the same.
 * - [ENTROPY-BONUS-2] An update that trained nothing tells nothing of the entropy: it is passed over.
 */
import type { RunConfig } from '../../config/schema/schema.ts'
import type { RunId } from '../../identity/identity.ts'
import { entropyBand, entropyWindow } from '../../learning/algorithms/losses/epo.ts'
import { type EntropyRecord, entropyCoefficientAt } from '../../learning/loss/entropy-target.ts'
import type { EntropyBand } from '../../learning/loss/objective.ts'
import type { Updates } from '../../storage/records/updates.ts'
import type { UpdateFigures } from '../metrics/update-metrics.ts'

export interface EntropyBonus {
  readonly coefficient: number
  /** Absent where no algorithm smooths the entropy, and in a first update. */
  readonly band?: EntropyBand | undefined
}

/** @param smooths whether an algorithm of the run keeps the entropy near that of the last updates */
export async function entropyBonus(
  updates: Pick<Updates, 'get'>,
  { run, step }: { readonly run: RunId; readonly step: number },
  { learning, training }: Pick<RunConfig, 'learning' | 'training'>,
  smooths: boolean,
): Promise<EntropyBonus> {
  const { entropyTarget, entropyCoefficient } = learning
  const count = smooths ? entropyWindow : entropyTarget === undefined ? 0 : 1
  const before = await lastRecords(updates, { run, step }, entropyCoefficient, count)
  const entropies = before.map(({ entropy }) => entropy)
  return {
    coefficient:
      entropyTarget === undefined
        ? entropyCoefficient
        : entropyCoefficientAt(before[0], { ...learning, entropyTarget }),
    ...(smooths && { band: entropyBand(entropies, (step - 1) / training.updates) }),
  }
}

/** The records of the last updates that trained, the latest first. @param configured the coefficient of one that has stored none */
async function lastRecords(
  updates: Pick<Updates, 'get'>,
  { run, step }: { readonly run: RunId; readonly step: number },
  configured: number,
  count: number,
): Promise<readonly EntropyRecord[]> {
  const found: EntropyRecord[] = []
  for (let at = step - 1; at > 0 && found.length < count; at--) {
    const {
      gradientNorm,
      entropy,
      entropyCoefficient = configured,
    } = ((await updates.get(run, at))?.statistics ?? {}) as unknown as Partial<UpdateFigures>
    if (gradientNorm !== undefined && gradientNorm > 0 && entropy !== undefined)
      found.push({ entropy, coefficient: entropyCoefficient })
  }
  return found
}
