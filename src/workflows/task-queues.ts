/**
 * Task queues: one per role, what goes first within one, and how long a worker may hold what it took.
 *
 * Invariants
 * - A role's work is polled for by workers of that role alone.
 * - Evaluations yield: whatever of training waits in a queue goes before them.
 */

/** The queue of each role; episodes stand in the environment's, beside the sessions they play in. */
export const taskQueues = {
  orchestrator: 'perdure-orchestrator',
  environment: 'perdure-environment',
  policy: 'perdure-policy',
  trainer: 'perdure-trainer',
} as const

/**
 * How long a dead worker keeps a workflow that it had a task of. A living one asks for more time at four fifths
 * of it, while an environment steps; one that is too late costs a replay.
 */
export const workflowTaskTimeout = '5 seconds'

/** Priority of an evaluation with all its episodes and turns; the lowest, training has the one in the middle. */
export const evaluationPriority = { priorityKey: 5 } as const
