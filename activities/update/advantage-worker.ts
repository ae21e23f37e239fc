/**
 * The thread in which algorithms of modules compute advantages.
 */
import { batchAdvantages } from '../../learning/algorithms/batch-advantages.ts'
import { serveCalls } from '../../machine/modules/thread-answers.ts'
import { importAlgorithm } from '../../policy/trainer/algorithm-module.ts'
import type { AdvantageMethods } from './advantage-thread.ts'

serveCalls<AdvantageMethods>({
  advantages: async ({ module, groups, ...rules }) =>
    batchAdvantages(await importAlgorithm(module), groups, rules),
})
