/**
 * Retention of a run carried out: its holdings, the removals that its policy allows, and these removals.
 *
 * Invariants
 * - `storage/records/retention.ts` alone decides what goes.
 * - Each removal is whole or has not happened: a checkpoint leaves its name at once, the trajectories of a group go in
 *   one transaction. Removing what is gone changes nothing.
 * - While a state or a mark cannot be read, no checkpoint is deleted.
 * - A run that ended before its first version was published keeps its warm start: it is resumed from there.
 * - [DISCARDED-1] A checkpoint that the store knows of stays. Newer ones are moved aside and not deleted: when their version is trained
 *   again they must not be found, because the update may now have other groups.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { askedVersions } from '../../config/schema/asked-model-schema.ts'
import type { RunConfig } from '../../config/schema/schema.ts'
import type { StoredCourse } from '../../contract/training-state.ts'
import type { RunId } from '../../identity/identity.ts'
import { versionsInUse } from '../../learning/run/versions-in-use.ts'
import { removeAbandoned } from '../../machine/processes/partial-file.ts'
import { clock } from '../../machine/services/clock.ts'
import { readPromotion } from '../../policy/checkpoints/promotion.ts'
import { deleteCheckpoint, publishedVersions } from '../../policy/checkpoints/versions.ts'
import { CheckpointFault } from '../../policy/files/checkpoint-fault.ts'
import { moveAside } from '../../storage/disk/aside.ts'
import { bytesAt, namesIn } from '../../storage/disk/disk-use.ts'
import { storageFaultOf } from '../../storage/disk/fault.ts'
import { type Home, imitatedFile, type RunDirectory } from '../../storage/disk/home.ts'
import type { AuditEntry } from '../../storage/records/audit.ts'
import type { Removal, RetentionPolicy, RunHoldings } from '../../storage/records/retention.ts'
import type { Store } from '../../storage/store.ts'

/** A run in its home. */
export interface RunPlace {
  readonly run: RunId
  readonly store: Store
  readonly directory: RunDirectory
}

/** An evaluation without a result for so long has failed; its version is not needed any more. */
export const longestEvaluationMs = 7 * 24 * 60 * 60 * 1000

const dayMs = 24 * 60 * 60 * 1000
const megabyte = 1e6

/** The retention policy of a configuration. */
export function retentionPolicy({ tasks, training, retention }: RunConfig): RetentionPolicy {
  return {
    latestCheckpoints: training.keepCheckpoints,
    everyCheckpoint: retention.everyCheckpoint,
    bestCheckpoints: retention.bestCheckpoints,
    askedVersions: askedVersions(tasks),
    batches: retention.batches,
    trajectoryMs: retention.trajectoryDays === undefined ? undefined : retention.trajectoryDays * dayMs,
    trajectoryBytes: retention.trajectoryMegabytes * megabyte,
  }
}

/** Versions that the run's workflow needs at the moment; without them the state that it last stored is asked. */
export interface Needs {
  readonly version: number
  readonly inUse: readonly number[]
  readonly pinned: readonly number[]
}

/**
 * The stored holdings of a run.
 * @param options.needs the workflow's own answer
 * @param options.trajectories false leaves them out, because reading them means reading every episode
 */
export async function holdingsOf(
  { run, store, directory }: RunPlace,
  options: { readonly needs?: Needs; readonly trajectories?: boolean } = {},
): Promise<RunHoldings> {
  const { trajectories = true } = options
  const stored = await store.runs.get(run)
  const needs = options.needs ?? (await lastNeeds(run, store))
  const evaluating = await store.evaluations.unfinished(run, clock.now() - longestEvaluationMs)
  const promoted = await promotedVersion(directory)
  const orders = pendingVersions(await store.audit.list(run))
  const versions = await publishedVersions(directory.checkpointsDir)
  const { found: evaluations } = await store.evaluations.findings(run)
  return {
    done: stored?.status === 'done',
    version: options.needs?.version ?? stored?.version ?? null,
    checkpoints: await Promise.all(
      versions.map(async (version) => ({ version, bytes: await bytesAt(directory.checkpointDir(version)) })),
    ),
    warmStart: await warmStartOf(directory),
    inUse: needs && [...needs.inUse, ...evaluating],
    pinned: needs && promoted && [...needs.pinned, ...promoted, ...orders],
    evaluations,
    batches: await batchesOf(directory),
    step: (await store.updates.latest(run))?.step ?? 0,
    trajectories: trajectories ? await store.holdings.trajectories(run) : [],
  }
}

const count = z.int().min(0)

const stateSchema = z.object({
  version: count,
  pool: z.array(count),
  inFlight: z.array(z.object({ version: count, pool: z.array(count) })),
  evaluating: z.array(z.object({ version: count })),
  rollBackTo: count.nullable(),
  pinned: z.array(count),
})

/** Versions in the state of the last publication; undefined where no state can be read. */
async function lastNeeds(run: RunId, store: Store): Promise<Omit<Needs, 'version'> | undefined> {
  const parsed = stateSchema.safeParse(await store.runs.state(run))
  if (!parsed.success) return undefined
  return { inUse: versionsInUse(parsed.data), pinned: parsed.data.pinned }
}

/** Orders since the last publication: versions to keep, and to go back to. */
function pendingVersions(orders: readonly AuditEntry[]): readonly number[] {
  return orders.flatMap(({ what, to, effectVersion, reason }) => {
    const isAwaited = what === 'rollback' && effectVersion === null && reason === null
    return typeof to === 'number' && (what === 'checkpoint' || isAwaited) ? [to] : []
  })
}

/** The promoted version, if any; undefined where the mark cannot be read. */
async function promotedVersion({ checkpointsDir }: RunDirectory): Promise<readonly number[] | undefined> {
  try {
    const promotion = await readPromotion(checkpointsDir)
    return promotion === undefined ? [] : [promotion.version]
  } catch (error) {
    if (error instanceof CheckpointFault) return undefined
    throw error
  }
}

const warmCheckpoint = /^warm-\d+$/

async function warmStartOf(directory: RunDirectory): Promise<RunHoldings['warmStart']> {
  const names = [
    ...(await namesIn(directory.checkpointsDir)).filter((name) => warmCheckpoint.test(name)),
    ...(await namesIn(directory.batchesDir)).filter((name) => imitatedFile.test(name)),
  ]
  return Promise.all(
    names.map(async (name) => ({ name, bytes: await bytesAt(warmStartPath(directory, name)) })),
  )
}

function warmStartPath({ checkpointsDir, batchesDir }: RunDirectory, name: string): string {
  return join(warmCheckpoint.test(name) ? checkpointsDir : batchesDir, name)
}

async function batchesOf(directory: RunDirectory): Promise<RunHoldings['batches']> {
  const steps = (await namesIn(directory.batchesDir)).flatMap((name) => {
    const step = /^([1-9]\d*)\.safetensors$/.exec(name)?.[1]
    return step === undefined ? [] : [Number(step)]
  })
  return Promise.all(
    steps.map(async (step) => {
      const sizes = await Promise.all(batchFilesOf(directory, step).map(bytesAt))
      return { step, bytes: sizes.reduce((sum, size) => sum + size, 0) }
    }),
  )
}

/** Files of an update's batch; the batch itself, by which the rest is known, comes last. */
function batchFilesOf(directory: RunDirectory, step: number): readonly string[] {
  return [directory.tokenFile(step), directory.batchFile(step)]
}

/** Carries a plan out, one removal after the other. @throws StorageFault, CheckpointFault what is left stays whole */
export async function remove(place: RunPlace, removals: readonly Removal[], now: number): Promise<void> {
  const { store, directory } = place
  for (const removal of removals) {
    switch (removal.kind) {
      case 'checkpoint':
        await deleteCheckpoint(directory.checkpointDir(removal.version))
        break
      case 'warm start':
        await deleteCheckpoint(warmStartPath(directory, removal.name))
        break
      case 'batch':
        for (const file of batchFilesOf(directory, removal.step))
          await rm(file, { force: true }).catch((error: unknown) => {
            throw storageFaultOf(error, file)
          })
        break
      case 'trajectories':
        await store.holdings.release(removal.parent, now)
        break
      default:
        removal satisfies never
    }
  }
  for (const folder of [directory.checkpointsDir, directory.batchesDir])
    if ((await namesIn(folder)).length > 0) await removeAbandoned(folder)
}

/** @throws StorageFault, CheckpointFault */
export async function discardCheckpoints(
  home: Home,
  store: Pick<Store, 'updates'>,
  { run, state }: Pick<StoredCourse, 'run' | 'state'>,
): Promise<void> {
  const { checkpointsDir, checkpointDir } = home.run(run)
  const newest = Math.max(state?.version ?? 0, (await store.updates.latest(run))?.version ?? 0)
  for (const version of await publishedVersions(checkpointsDir))
    if (version > newest) moveAside(home, checkpointDir(version), `${run}-checkpoint-${version}`)
}
