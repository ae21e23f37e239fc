/**
 * Promotion: which version of a run users take.
 *
 * Invariants
 * - Only a version whose checkpoint is whole is promoted.
 * - It asks no server, and is entered in the audit trail.
 */

import { bestOf } from '../../learning/evaluation/best-version.ts'
import { clock } from '../../machine/services/clock.ts'
import { type Promotion, readPromotion, writePromotion } from '../../policy/checkpoints/promotion.ts'
import type { EvaluationFindings } from '../../storage/records/evaluations.ts'
import { suiteOf } from './good-version.ts'
import type { SessionParts } from './run-calls.ts'
import { SessionFault } from './session-fault.ts'

export type { Promotion } from '../../policy/checkpoints/promotion.ts'

export interface RunPromotions {
  /** Marks the version that users take; by default the best one on a suite, the first one if none is named. */
  promote(
    run: string,
    wish?: { readonly version?: number | undefined; readonly suite?: string | undefined },
  ): Promise<Promotion>
}

export function createRunPromotions(parts: SessionParts): RunPromotions {
  const { store, home, known, goodVersion, by } = parts
  return {
    async promote(run, wish = {}) {
      const { id, config } = await known(run)
      const { checkpointsDir } = home.run(id)
      const { found: measured } = await store.evaluations.findings(id)
      const suite = suiteOf(id, config, wish.suite).name
      const best = bestOf(measured.filter((summary) => summary.suite === suite))
      const version = wish.version ?? best?.version
      if (version === undefined)
        throw new SessionFault(
          'unknown_version',
          measured.some((summary) => summary.suite === suite)
            ? `every evaluation of run ${run} over ${suite} lost more than 5 % of its episodes; \`perdure eval ${run}@VERSION --suite ${suite}\` plays them again, or name a version`
            : `run ${run} has no evaluation over ${suite}; name a version`,
        )
      if ((await goodVersion(id, version)) !== version)
        throw new SessionFault(
          'unknown_version',
          `the checkpoint of version ${version} of run ${run} is broken; promote another`,
        )
      const evidence = measured.find((summary) => summary.suite === suite && summary.version === version)
      const time = clock.now()
      const before = await readPromotion(checkpointsDir)
      const promotion: Promotion = {
        version,
        time: new Date(time).toISOString(),
        by,
        ...(evidence === undefined ? {} : { evaluation: evidenceOf(evidence) }),
      }
      await writePromotion(checkpointsDir, promotion)
      const current = (await store.runs.version(id)) ?? version
      await store.audit.append(id, {
        time,
        by,
        what: 'promote',
        from: before?.version ?? null,
        to: version,
        version: current,
        effectVersion: current,
        reason: null,
      })
      return promotion
    },
  }
}

function evidenceOf({ suite, success, measured, n, planned }: EvaluationFindings): Promotion['evaluation'] {
  return { suite, success, ...(measured === undefined ? {} : { measured }), n, planned }
}
