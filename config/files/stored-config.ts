/**
 * Configurations as a home keeps them: an earlier build may have written them, with settings that were removed since.
 *
 * Invariants
 * - [STORED-CONFIG-1] A stored configuration is read without the settings that were removed, those that replaced them in their place.
 * - [STORED-CONFIG-2] A run that used a removed setting does not continue without it: it is refused, and the setting is named.
 */

import { configSchema, type RunConfig } from '../schema/schema.ts'
import { choicesWithout, withAlgorithm } from './earlier-choice.ts'
import { ConfigFault } from './fault.ts'
import { isTree } from './tree.ts'

/** Settings that were removed because no gain was measured with them, each with the value at which it did nothing. */
const removed: Readonly<Record<string, string | number | boolean>> = {
  'learning.imitation.hindsight': 0,
  'learning.imitation.wonByAll': 0,
  'rollout.treeSamples': 0,
  'rollout.wonAgain': 1,
  'warmStart.slips': 0,
}

/** A stored configuration as it is read now. @throws ZodError */
export function storedConfig(given: unknown): RunConfig {
  return configSchema.parse(withoutRemoved(given))
}

/** A stored configuration without the settings that were removed. */
export function withoutRemoved(given: unknown): unknown {
  const config: unknown = structuredClone(given)
  for (const { section, name } of removedIn(config)) Reflect.deleteProperty(section, name)
  return isTree(config) ? withAlgorithm(config) : config
}

/** Keys of the removed settings that a stored configuration uses. */
export function removedInUse(given: unknown): readonly string[] {
  const choices = isTree(given) ? choicesWithout(given) : []
  return [...choices, ...removedIn(given).flatMap(({ key, isUsed }) => (isUsed ? [key] : []))]
}

/** @param subject what was to continue, in words @throws ConfigFault */
export function refuseRemovedInUse(subject: string, given: unknown): void {
  const problems = removedInUse(given).map((key) => {
    const why = Object.hasOwn(removed, key)
      ? 'was removed, because no gain was measured with it'
      : 'belongs to an algorithm now (`learning.algorithm`)'
    const message = `${subject} uses \`${key}\`, which ${why}: continue it with the build that began it, or begin another without it`
    return { key, value: undefined, allowed: 'a configuration without it', where: '', message }
  })
  if (problems.length > 0) throw new ConfigFault('bad_value', problems)
}

function removedIn(config: unknown) {
  return Object.entries(removed).flatMap(([key, idle]) => {
    const names = key.split('.')
    const name = names.pop() ?? ''
    let section = config
    for (const each of names) section = isTree(section) ? Reflect.get(section, each) : undefined
    if (!isTree(section) || !Object.hasOwn(section, name)) return []
    return [{ key, section, name, isUsed: Reflect.get(section, name) !== idle }]
  })
}
