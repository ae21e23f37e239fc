/**
 * The thread in which advantages of modules are computed.
 *
 * Invariants
 * - A module is loaded once in a thread. Its results are checked each time, and a fault names the module and the task.
 */
import { z } from 'zod'
import { reasonOf } from '../../faults/reason.ts'
import {
  type AdvantageGroup,
  type CustomAdvantage,
  customAdvantages,
} from '../../learning/algorithms/custom-advantage.ts'
import { ExternalFault, importOnly } from '../../machine/modules/external-module.ts'
import { serveCalls } from '../../machine/modules/thread-answers.ts'
import type { AdvantageMethods } from './advantage-thread.ts'

const advantageSchema = z.looseObject({
  name: z.string().min(1),
  advantagesOf: z.custom<CustomAdvantage['advantagesOf']>(
    (value) => typeof value === 'function',
    'expected a function',
  ),
})

serveCalls<AdvantageMethods>({
  async advantages({ module, groups }) {
    const own = (await importOnly(module, {
      words: { one: 'advantage', several: 'advantages' },
      keys: ['advantagesOf'],
      written: 'export const advantage: CustomAdvantage = …',
      schema: advantageSchema,
    })) as CustomAdvantage
    return groups.map((group) => advantagesOf(own, module, group))
  },
})

function advantagesOf(own: CustomAdvantage, module: string, group: AdvantageGroup) {
  try {
    return customAdvantages(own, group)
  } catch (cause) {
    throw new ExternalFault(
      'bad_result',
      `the advantage "${own.name}" of ${module} fails for a group of ${group.task}: ${reasonOf(cause)}`,
      { cause },
    )
  }
}
