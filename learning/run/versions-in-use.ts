/**
 * Versions in use: those whose checkpoints something in flight may still ask for.
 *
 * Invariants
 * - Version 0 is always among them: the divergence of every update is taken from it.
 */
import { bestVersions } from '../evaluation/best-version.ts'

/** The versions that a run needs. */
export interface VersionUse {
  readonly version: number
  readonly pool: readonly number[]
  readonly inFlight: readonly { readonly version: number; readonly pool: readonly number[] }[]
  readonly evaluating: readonly { readonly version: number }[]
  readonly rollBackTo: number | null
}

/** @returns ascending, each once */
export function versionsInUse(of: VersionUse): readonly number[] {
  const used = [
    ...[0, of.version, ...of.pool],
    ...of.inFlight.flatMap(({ version, pool }) => [version, ...pool]),
    ...of.evaluating.map(({ version }) => version),
    ...(of.rollBackTo === null ? [] : [of.rollBackTo]),
  ]
  return [...new Set(used)].sort((a, b) => a - b)
}

/** Versions whose checkpoints are kept though nothing samples from them: pinned ones, the best of each suite. */
export function keptVersions({
  pinned,
  evaluations,
}: {
  readonly pinned: readonly number[]
  readonly evaluations: Parameters<typeof bestVersions>[0]
}): readonly number[] {
  return [...new Set([...pinned, ...bestVersions(evaluations, 1)])]
}
