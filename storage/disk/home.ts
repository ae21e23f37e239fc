/**
 * The home directory: where everything that Perdure keeps lies.
 *
 * Layout
 *   temporal.db                                     the embedded Temporal server
 *   store.db                                        runs, groups, episodes, turns, updates, evaluations
 *   logs/
 *   environments/<task>/                            what a task sets up on demand and keeps
 *   data/<task>/                                    official data that was pulled
 *   aside/                                          what `doctor --repair` found damaged and moved away
 *   runs/<run>/metrics.jsonl
 *   runs/<run>/checkpoints/<version>/
 *   runs/<run>/checkpoints/base/                    what versions that are adapters change
 *   runs/<run>/batches/<step>.safetensors
 *   runs/<run>/batches/<step>.tokens.safetensors    what the update found of each token
 *
 * Invariants
 * - Every path in a home is built here and nowhere else.
 * - Nothing is kept outside of it: deleting the directory deletes everything.
 */
import { accessSync, constants, existsSync, readdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { RunId } from '../../identity/identity.ts'
import { makeFolder } from '../../machine/files/folder.ts'
import { storeAddress } from './address.ts'
import { StorageFault, storageFaultOf } from './fault.ts'

/** The paths of one run. */
export interface RunDirectory {
  readonly dir: string
  readonly metricsFile: string
  readonly checkpointsDir: string
  /** The directory of one version, whether it exists or not. */
  checkpointDir(version: number): string
  /** Base weights of a policy that is trained as an adapter. */
  readonly baseDir: string
  readonly batchesDir: string
  /** Demonstrations that the warm start imitates. */
  readonly demonstrationsFile: string
  /** Demonstrations of one part of the warm start, made to correct the policy. */
  correctionsFile(part: number): string
  /** The batch of one update. */
  batchFile(step: number): string
  /** The update's figures for each token of the batch. */
  tokenFile(step: number): string
}

/** Names of the files that a warm start imitates. */
export const imitatedFile = /^(demonstrations|corrections-\d+)\.safetensors$/

/** The paths of a home directory, absolute. */
export interface Home {
  readonly dir: string
  readonly temporalFile: string
  /** The place of the store: its file, or the address that `PERDURE_STORE` names, without the password. */
  readonly storeFile: string
  readonly logsDir: string
  readonly runsDir: string
  /** Where tasks set up things on demand and keep them. */
  readonly environmentsDir: string
  /** Official data that was pulled, a folder per task. */
  readonly dataDir: string
  /** Damaged files that were moved away. */
  readonly asideDir: string
  run(run: RunId): RunDirectory
}

const storeName = 'store.db'

/** The home that commands use unless `--home` says otherwise. */
export const defaultHome = '.perdure'

/** The paths of a home; touches nothing. @throws StorageFault `bad_address`, also where the home has runs in a file */
export function homeAt(directory: string): Home {
  const dir = resolve(directory)
  const runsDir = join(dir, 'runs')
  const address = storeAddress()
  if (address !== undefined) refuseSecondStore(join(dir, storeName), runsDir)
  return {
    dir,
    temporalFile: join(dir, 'temporal.db'),
    storeFile: address ?? join(dir, storeName),
    logsDir: join(dir, 'logs'),
    runsDir,
    environmentsDir: join(dir, 'environments'),
    dataDir: join(dir, 'data'),
    asideDir: join(dir, 'aside'),
    run(run) {
      const runDir = join(runsDir, run)
      const checkpointsDir = join(runDir, 'checkpoints')
      const batchesDir = join(runDir, 'batches')
      return {
        dir: runDir,
        metricsFile: join(runDir, 'metrics.jsonl'),
        checkpointsDir,
        checkpointDir: (version) => join(checkpointsDir, String(version)),
        baseDir: join(checkpointsDir, 'base'),
        batchesDir,
        demonstrationsFile: join(batchesDir, 'demonstrations.safetensors'),
        correctionsFile: (part) => join(batchesDir, `corrections-${part}.safetensors`),
        batchFile: (step) => join(batchesDir, `${step}.safetensors`),
        tokenFile: (step) => join(batchesDir, `${step}.tokens.safetensors`),
      }
    },
  }
}

/**
 * Creates the missing folders of a home.
 * @throws StorageFault `not_a_directory`, `no_permission`, `disk_full`, `io`, naming the path
 */
export function createHome(directory: string): Home {
  const home = homeAt(directory)
  for (const dir of [home.dir, home.logsDir, home.runsDir]) createDirectory(dir)
  return home
}

/** A home whose runs are in its file would look empty by an address. */
function refuseSecondStore(file: string, runsDir: string): void {
  if (!existsSync(file) || !existsSync(runsDir) || readdirSync(runsDir).length === 0) return
  throw new StorageFault(
    'bad_address',
    `${file} has the runs of this home, and PERDURE_STORE names another store: unset it, or name another home by --home`,
  )
}

/**
 * Creates the missing folders of a run. The home must exist: a run never creates a deleted home again.
 * @throws StorageFault `missing`, and as `createHome`
 */
export function createRunDirectory(home: Home, run: RunId): RunDirectory {
  const paths = home.run(run)
  if (!existsSync(home.runsDir))
    throw new StorageFault(
      'missing',
      `${home.runsDir} is gone, and with it what run ${run} has stored; put it back`,
    )
  for (const dir of [paths.dir, paths.checkpointsDir, paths.batchesDir]) createDirectory(dir)
  return paths
}

function createDirectory(dir: string): void {
  try {
    makeFolder(dir)
    if (!statSync(dir).isDirectory()) throw new StorageFault('not_a_directory', `${dir} is no directory`)
    accessSync(dir, constants.W_OK | constants.X_OK)
  } catch (error) {
    throw storageFaultOf(error, `directory ${dir}`)
  }
}
