/**
 * Task queues: one per role.
 *
 * Invariants
 * - A role's work is polled for by workers of that role alone.
 */

/** The queue of each role. */
export const taskQueues = {
  orchestrator: 'perdure-orchestrator',
  environment: 'perdure-environment',
  policy: 'perdure-policy',
  trainer: 'perdure-trainer',
} as const

/** The queue of one environment worker, which holds sessions in memory. */
export function sessionQueue(worker: string): string {
  return `${taskQueues.environment}-${worker}`
}
