/**
 * An engine of someone's own, among what a module exports.
 *
 * Invariants
 * - Exactly one export is an engine; what is incomplete is named.
 */
import { z } from 'zod'
import { importOnly } from '../../machine/modules/external-module.ts'
import { ownedBy, reportingOwner } from '../../machine/modules/module-code.ts'
import type { EngineDefinition } from './engine.ts'

const definitionSchema = z.looseObject({
  name: z.string().min(1),
  capabilities: z.looseObject({
    versions: z.enum(['many', 'latest', 'first']),
    adapters: z.boolean().optional(),
    served: z.boolean().optional(),
    scoring: z.boolean(),
    exact: z.boolean(),
  }),
  open: z.custom<EngineDefinition['open']>((value) => typeof value === 'function', 'expected a function'),
})

/** @param path of the module, absolute @throws ExternalFault */
export async function importEngine(path: string): Promise<EngineDefinition> {
  const definition = (await importOnly(path, {
    words: { one: 'engine', several: 'engines' },
    keys: ['open', 'capabilities'],
    written: 'export const engine: EngineDefinition = …',
    schema: definitionSchema,
  })) as EngineDefinition
  const { name, capabilities } = definition
  const owner = reportingOwner(`the engine "${name}"`)
  return { name, capabilities, open: async (options) => ownedBy(owner, await definition.open(options)) }
}
