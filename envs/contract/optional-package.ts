/**
 * Packages that one task alone needs: they are not installed with Perdure, and asked for by name where they are missing.
 *
 * Invariants
 * - The version that is named is the one that was tested, as package.json has it.
 */
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

function isInstalled(name: string): boolean {
  try {
    require.resolve(name)
    return true
  } catch (error) {
    // Whatever else is said of it, such as that it is for `import` alone, it is there.
    return (error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND'
  }
}
