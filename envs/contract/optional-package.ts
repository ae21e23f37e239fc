/**
 * Packages that one task alone needs: they are not installed with Perdure, and asked for by name where they are missing.
 *
 * Invariants
 * - The version that is named is the one that was tested, as package.json has it.
 */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { packageRoot } from '../../machine/files/folder.ts'
import { EnvironmentFault } from './environment.ts'

const require = createRequire(import.meta.url)

/** @throws EnvironmentFault not_installed, with the command that installs what is missing */
export function needPackages(task: string, ...names: readonly string[]): void {
  const missing = names.filter((name) => !isInstalled(name))
  if (missing.length === 0) return
  const { peerDependencies } = require(join(packageRoot, 'package.json')) as {
    readonly peerDependencies: Readonly<Record<string, string>>
  }
  const wanted = missing.map((name) => `${name}@${peerDependencies[name] ?? 'latest'}`).join(' ')
  throw new EnvironmentFault(
    'not_installed',
    `the task ${task} needs a package that is not installed: npm install --ignore-scripts ${wanted}`,
  )
}

/** Whatever its own entries are: a package may have none under its bare name. */
function isInstalled(name: string): boolean {
  return require.resolve.paths(name)?.some((folder) => existsSync(join(folder, name))) === true
}
