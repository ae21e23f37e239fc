/**
 * Statements of an environment about itself, with a default for each that its author leaves out.
 *
 * Invariants
 * - A name, a turn limit or a metric that cannot be used is refused where the environment is defined.
 */
import { metricsProblem } from '../../learning/evaluation/measure.ts'
import type { EnvironmentDefinition } from '../contract/environment.ts'
import type { DefinedFacts } from './definition.ts'

const namePattern = /^[a-z][a-z0-9_-]{0,39}$/

/** @throws RangeError */
export function statedFacts(
  name: string,
  { metrics, asks, ...stated }: DefinedFacts,
  otherwise: { readonly turnLimit: number; readonly reward: string },
): Omit<EnvironmentDefinition, 'open' | 'replayable' | 'replayableBecause'> {
  const { turnLimit = otherwise.turnLimit } = stated
  if (!namePattern.test(name))
    throw new RangeError(
      `"${name}" cannot name an environment: use up to 40 small letters, digits, "-" and "_", a letter first`,
    )
  if (!(Number.isInteger(turnLimit) && turnLimit >= 1))
    throw new RangeError(`turnLimit of ${name} is ${turnLimit}, expected a whole number from 1 on`)
  const problem = metricsProblem(metrics ?? {})
  if (problem !== undefined) throw new RangeError(`${name}: ${problem}`)
  return {
    name,
    summary: stated.summary ?? `The environment ${name}.`,
    source: stated.source ?? 'its own package',
    licence: stated.licence ?? 'that of its package',
    reward: stated.reward ?? otherwise.reward,
    turnLimit,
    ...(stated.turnLimitCompletes === true ? { turnLimitCompletes: true } : {}),
    ...(metrics === undefined ? {} : { metrics }),
    ...(asks === undefined ? {} : { asks }),
  }
}
