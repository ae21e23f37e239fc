/** The name of this build: its version, and its commit where it is a checkout. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { packageRoot } from '../files/folder.ts'

const packageSchema = z.object({ version: z.string() })

export function packageVersion(): string {
  const file = join(packageRoot, 'package.json')
  return packageSchema.parse(JSON.parse(readFileSync(file, 'utf8'))).version
}

/** @example '0.1.0 1f2e3d…', with `-dirty` where files of the checkout are changed */
export function buildName(): string {
  const version = packageVersion()
  if (!existsSync(join(packageRoot, '.git'))) return version
  try {
    const words = ['-C', packageRoot, 'describe', '--always', '--dirty', '--abbrev=40', '--exclude', '*']
    return `${version} ${execFileSync('git', words, { encoding: 'utf8', stdio: 'pipe' }).trim()}`
  } catch {
    // Without git the version has to do.
    return version
  }
}
