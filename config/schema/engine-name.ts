/**
 * The engines that come with Perdure, by the names that a configuration gives them.
 *
 * Invariants
 * - Any other name is that of a module or package of someone's own.
 */

export const engineNames = ['embedded', 'llama.cpp', 'vllm', 'sglang'] as const
export type EngineName = (typeof engineNames)[number]

export function isEngineName(engine: string): engine is EngineName {
  return (engineNames as readonly string[]).includes(engine)
}

/** True for an engine whose servers run elsewhere. */
export function hasServers(engine: string): boolean {
  return isEngineName(engine) && engine !== 'embedded'
}
