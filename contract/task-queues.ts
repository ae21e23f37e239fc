/**
 * Task queues: one per role, the priorities within one, and how long a worker may hold a task.
 *
 * Invariants
 * - A role's work is polled for by workers of that role and of that home alone.
 * - [TASK-QUEUE-1] Work that a person waits for goes first, and evaluations of a run yield to all work of training that waits in a queue.
 * - [TASK-QUEUE-2] Runs share a queue by their weights, where the server has fairness switched on; otherwise first come, first served.
 */

import { type HomeName, ownServer, type RunId } from '../identity/identity.ts'

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

/** Who waits for the work: a person for an evaluation or a branch, training for its groups, no one for a scheduled evaluation. */
const priorityKeys = { person: 1, training: 3, schedule: 5 } as const

export type Waiting = keyof typeof priorityKeys

/**
 * The place of a workflow, its activities and its children in a queue: the smallest number first, and among equals every run by its share.
 * @param share of the run relative to the others; by default that of the workflow that starts this one
 */
export function priorityOf(waiting: Waiting, run: RunId, share?: number) {
  const weight = share === undefined ? {} : { fairnessWeight: share }
  return { priorityKey: priorityKeys[waiting], fairnessKey: run, ...weight }
}
