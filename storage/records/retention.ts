/**
 * Retention: which of a run's files and trajectories may go, and why.
 *
 * Invariants
 * - Pure: the same facts, policy and time give the same plan.
 * - Nothing goes that a run which may continue needs: versions in use and from the current one on, version 0, groups
 *   that no update has consumed, batches of updates that have not ended.
 * - Without proof that a checkpoint is free it is kept: where the versions in use or the promoted one are unknown, no
 *   checkpoint goes.
 * - Carrying a plan out and planning again gives an empty plan.
 */

import { bestVersions } from '../../learning/evaluation/best-version.ts'

/** How much of a run is kept. */
export interface RetentionPolicy {
  /** Latest checkpoints, at least. */
  readonly latestCheckpoints: number
  /** Every n-th version; 0 for none. */
  readonly everyCheckpoint: number
  /** Best versions of each suite. */
  readonly bestCheckpoints: number
  /** Versions that answer questions of environments. */
  readonly askedVersions: readonly number[]
  /** Latest batch files. */
  readonly batches: number
  /** Age beyond which trajectories go; undefined: at no age. */
  readonly trajectoryMs: number | undefined
  /** Size beyond which the oldest trajectories go. */
  readonly trajectoryBytes: number | undefined
}

/** The trajectories of one group or evaluation. */
export interface TrajectoryHolding {
  readonly parent: string
  /** Milliseconds since the epoch; null while it is played. */
  readonly ended: number | null
  /** `waiting`: complete, and no update has consumed it. */
  readonly use:
    | 'playing'
    | 'waiting'
    | 'evaluated'
    | 'branched'
    | 'abandoned'
    | { readonly consumedBy: number }
  readonly episodes: number
  readonly bytes: number
}

/** Contents of a run's directory and store. */
export interface RunHoldings {
  /** True for a run that is done: nothing will ask for anything but its checkpoints. */
  readonly done: boolean
  /** The published version; null before the first. */
  readonly version: number | null
  readonly checkpoints: readonly { readonly version: number; readonly bytes: number }[]
  /** Checkpoints and demonstrations of the warm start, by file name. */
  readonly warmStart: readonly { readonly name: string; readonly bytes: number }[]
  /** Versions that something may ask for; undefined where that is unknown. */
  readonly inUse: readonly number[] | undefined
  /** Versions that a person asked to keep, or promoted; undefined where they are unknown. */
  readonly pinned: readonly number[] | undefined
  readonly evaluations: Parameters<typeof bestVersions>[0]
  readonly batches: readonly { readonly step: number; readonly bytes: number }[]
  /** The last update that has ended. */
  readonly step: number
  readonly trajectories: readonly TrajectoryHolding[]
}

/** One thing that may go. */
export type Removal = { readonly bytes: number; readonly why: string } & (
  | { readonly kind: 'checkpoint'; readonly version: number }
  | { readonly kind: 'warm start'; readonly name: string }
  | { readonly kind: 'batch'; readonly step: number }
  | { readonly kind: 'trajectories'; readonly parent: string; readonly episodes: number }
)

/**
 * Removals for a run, in the order to carry them out.
 * @param now milliseconds since the epoch
 */
export function planRetention(holdings: RunHoldings, policy: RetentionPolicy, now: number): Removal[] {
  return [
    ...sparedCheckpoints(holdings, policy),
    ...pastWarmStart(holdings),
    ...sparedBatches(holdings, policy),
    ...sparedTrajectories(holdings, policy, now),
  ]
}

function sparedCheckpoints(holdings: RunHoldings, policy: RetentionPolicy): Removal[] {
  const { checkpoints, inUse, pinned, version: current } = holdings
  if (inUse === undefined || pinned === undefined || current === null) return []
  const versions = checkpoints.map(({ version }) => version).sort((a, b) => a - b)
  const kept = new Set([
    0,
    ...inUse,
    ...pinned,
    ...policy.askedVersions,
    ...versions.slice(-Math.max(1, policy.latestCheckpoints)),
    ...bestVersions(
      holdings.evaluations.filter(({ version }) => versions.includes(version)),
      policy.bestCheckpoints,
    ),
  ])
  const isNth = (version: number) => policy.everyCheckpoint > 0 && version % policy.everyCheckpoint === 0
  return checkpoints
    .filter(({ version }) => version < current && !kept.has(version) && !isNth(version))
    .sort((a, b) => a.version - b.version)
    .map(({ version, bytes }) => ({
      kind: 'checkpoint',
      version,
      bytes,
      why: `older than the latest ${policy.latestCheckpoints}, and nothing uses it`,
    }))
}

function pastWarmStart({ warmStart, version }: RunHoldings): Removal[] {
  if (version === null) return []
  return warmStart.map(({ name, bytes }) => ({
    kind: 'warm start',
    name,
    bytes,
    why: 'the warm start has ended',
  }))
}

function sparedBatches({ batches, step }: RunHoldings, policy: RetentionPolicy): Removal[] {
  return batches
    .filter((batch) => batch.step <= step - policy.batches)
    .sort((a, b) => a.step - b.step)
    .map((batch) => ({
      kind: 'batch',
      ...batch,
      why: `older than the latest ${policy.batches} updates`,
    }))
}

function sparedTrajectories(holdings: RunHoldings, policy: RetentionPolicy, now: number): Removal[] {
  const { trajectoryMs = Number.POSITIVE_INFINITY, trajectoryBytes = Number.POSITIVE_INFINITY } = policy
  let total = holdings.trajectories.reduce((sum, { bytes }) => sum + bytes, 0)
  const free = holdings.trajectories
    .filter((holding) => isFree(holding, holdings))
    .sort((a, b) => (a.ended ?? now) - (b.ended ?? now) || (a.parent < b.parent ? -1 : 1))
  const removals: Removal[] = []
  for (const { parent, ended, episodes, bytes } of free) {
    const isOld = now - (ended ?? now) > trajectoryMs
    if (!isOld && total <= trajectoryBytes) continue
    total -= bytes
    const why = isOld
      ? `ended more than ${days(trajectoryMs)} ago`
      : `the run's trajectories are beyond ${megabytes(trajectoryBytes)}, and these are the oldest`
    removals.push({ kind: 'trajectories', parent, episodes, bytes, why })
  }
  return removals
}

function isFree({ use, ended }: TrajectoryHolding, { step, done }: RunHoldings): boolean {
  if (ended === null || use === 'playing') return false
  if (use === 'waiting') return done
  return typeof use === 'string' || use.consumedBy <= step
}

const dayMs = 24 * 60 * 60 * 1000

function days(ms: number): string {
  return `${Number((ms / dayMs).toFixed(2))} days`
}

function megabytes(bytes: number): string {
  return `${Number((bytes / 1e6).toPrecision(3))} MB`
}
