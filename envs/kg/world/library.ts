/**
 * The built-in questions as a library: splits, ids, questions.
 *
 * Invariants
 * - An id that a split gives can be opened; any other is an unknown instance.
 */
import { generatedInstances } from '../../generated-instances.ts'
import type { QuestionLibrary } from '../library.ts'
import type { KgSettings } from '../settings.ts'
import { generateQuestion } from './generator.ts'
import type { World } from './world.ts'

/** The generated questions of these settings. */
export function openGeneratedQuestions(world: World, settings: KgSettings): QuestionLibrary {
  const { splits, instanceAt, placeOf } = generatedInstances('kg', 'question')
  return {
    splits,
    instanceAt,
    question(instance) {
      const { split, index } = placeOf(instance)
      return generateQuestion(world, split, index, settings)
    },
  }
}
