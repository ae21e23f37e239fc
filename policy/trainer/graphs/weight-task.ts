/**
 * Work on weights and sums of gradients element by element, in parts that threads share out among them.
 *
 * Invariants
 * - [PARTS-1] A weight is one thread's: how many threads share a task changes no byte.
 */

import type { OptimizerSettings } from '../trainer.ts'
import { adamwStep, type OptimizedWeight, squares } from '../update/adamw.ts'
import type { ThreadSums } from './gradient-sum.ts'

/** A step of AdamW, as `adamwStep` takes it. */
export interface AdamwCourse {
  readonly settings: OptimizerSettings
  readonly learningRate: number
  readonly step: number
  readonly scale: number
}

/** All arrays are in shared memory. */
export type WeightTask =
  | { readonly task: 'add'; readonly sums: readonly ThreadSums[] }
  | { readonly task: 'step'; readonly weights: readonly OptimizedWeight[]; readonly course: AdamwCourse }

/** Performs a task. @returns of `add` the sum of squares of each sum */
export function performTask(task: WeightTask): readonly number[] {
  if (task.task === 'add') return task.sums.map(addUp)
  const { settings, learningRate, step, scale } = task.course
  for (const weight of task.weights) adamwStep(weight, settings, learningRate, step, scale)
  return []
}

function addUp({ whole, others }: ThreadSums): number {
  for (const terms of others) for (let i = 0; i < whole.length; i++) whole[i]! += terms[i]!
  return squares(whole)
}
