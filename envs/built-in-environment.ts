/**
 * Built-in tasks for programs and modules outside of Perdure, which build upon them.
 *
 * Invariants
 * - No task is loaded before one is asked for.
 */
import type { EnvironmentDefinition } from './contract/environment.ts'

/**
 * The built-in task of that name.
 * @throws UnknownTask, naming the known ones
 * @example await builtInEnvironment('alfworld')
 */
export async function builtInEnvironment(name: string): Promise<EnvironmentDefinition> {
  const { findEnvironment } = await import('./registry.ts')
  return findEnvironment(name)
}
