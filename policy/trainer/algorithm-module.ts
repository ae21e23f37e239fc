/**
 * Algorithms that modules of users export.
 *
 * Invariants
 * - A module is loaded once in a thread. Its results are checked each time, and a fault names the algorithm and the module.
 */
import { z } from 'zod'
import { reasonOf } from '../../faults/reason.ts'
import type { Algorithm } from '../../learning/algorithms/algorithm.ts'
import { checkedAlgorithm } from '../../learning/algorithms/custom-algorithm.ts'
import { ExternalFault, importOnly } from '../../machine/modules/external-module.ts'
import { reportingOwner, runAs } from '../../machine/modules/module-code.ts'

function isFunction(value: unknown): boolean {
  return typeof value === 'function'
}

const algorithmSchema = z.looseObject({
  name: z.string().min(1),
  advantagesOf: z.custom<Algorithm['advantagesOf']>(isFunction, 'expected a function'),
  normalizesBatch: z.boolean().optional(),
  readsEarlier: z.boolean().optional(),
  loss: z.looseObject({
    lossesOf: z.custom<Algorithm['loss']['lossesOf']>(isFunction, 'expected a function'),
    readsReference: z.boolean().optional(),
  }),
  valueTargetsOf: z.custom<Algorithm['valueTargetsOf']>(isFunction, 'expected a function').optional(),
  rejects: z.custom<Algorithm['rejects']>(isFunction, 'expected a function').optional(),
})

/** The algorithm that a module exports, checked. @param path absolute @throws ExternalFault, as its functions do */
export async function importAlgorithm(path: string): Promise<Algorithm> {
  const own = (await importOnly(path, {
    words: { one: 'algorithm', several: 'algorithms' },
    keys: ['advantagesOf', 'loss'],
    written: 'export const algorithm: Algorithm = …',
    schema: algorithmSchema,
  })) as Algorithm
  const owner = reportingOwner(`the algorithm of ${path}`)
  return checkedAlgorithm(own, (call) => {
    try {
      return runAs(owner, call)
    } catch (cause) {
      throw new ExternalFault(
        'bad_result',
        `the algorithm "${own.name}" of ${path} fails: ${reasonOf(cause)}`,
        { cause },
      )
    }
  })
}
