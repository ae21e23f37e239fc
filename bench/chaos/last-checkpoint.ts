/** The last checkpoint of a run, as one hash. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { RunId } from '../../identity/identity.ts'
import { publishedVersions } from '../../policy/checkpoints/versions.ts'
import { digestFile } from '../../policy/files/durable-file.ts'
import { homeAt } from '../../storage/disk/home.ts'

export interface LastCheckpoint {
  readonly version: number
  /** SHA-256 of the hexadecimal SHA-256s of weights and moments, a line each. */
  readonly sha256: string
}

/** The newest version; undefined where there is none. @throws CheckpointFault it cannot be read */
export async function lastCheckpoint(home: string, run: RunId): Promise<LastCheckpoint | undefined> {
  const { checkpointsDir, checkpointDir } = homeAt(home).run(run)
  const version = (await publishedVersions(checkpointsDir)).at(-1)
  if (version === undefined) return undefined
  const hash = createHash('sha256')
  for (const name of ['model.safetensors', 'optimizer.safetensors'])
    hash.update(`${(await digestFile(join(checkpointDir(version), name))).sha256}\n`)
  return { version, sha256: hash.digest('hex') }
}
