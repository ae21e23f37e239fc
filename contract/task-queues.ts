/**
 * Task queues: one per role, what goes first within one, and how long a worker may hold what it took.
 *
 * Invariants
 * - A role's work is polled for by workers of that role and of that home alone.
 * - Evaluations yield: whatever of training waits in a queue goes before them.
 */

import { type HomeName, ownServer } from '../identity/identity.ts'

/** Who works off a queue. */
export type QueueRole = 'orchestrator' | 'environment' | 'policy' | 'trainer'

/**
 * The queue of a role of a home; episodes stand in the environment's, beside the sessions they play in.
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
