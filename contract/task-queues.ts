/**
 * Task queues: one per role, the priorities within one, and how long a worker may hold a task.
 *
 * Invariants
 * - A role's work is polled for by workers of that role and of that home alone.
 * - Evaluations yield: all work of training that waits in a queue goes before them.
 */

import { type HomeName, ownServer } from '../identity/identity.ts'

/** The roles whose workers poll a queue. */
export type QueueRole = 'orchestrator' | 'environment' | 'policy' | 'trainer'

/**
 * The queue of a role of a home; episodes are in the environment's queue, beside the sessions they play in.
 * @example taskQueue('policy', home) // 'perdure-policy@p3xk0a'
 */
export function taskQueue(role: QueueRole, home: HomeName): string {
  return home === ownServer ? `perdure-${role}` : `perdure-${role}@${home}`
}

/**
 * How long a dead worker keeps a workflow that it had a task of. A living one asks for more time at four fifths of it,
 * while an environment steps. A late request costs a replay, so the time is well above what a busy machine needs.
 */
export const workflowTaskTimeout = '10 seconds'

/** Priority of an evaluation with all its episodes and turns; the lowest, training has the one in the middle. */
export const evaluationPriority = { priorityKey: 5 } as const
