/**
 * Roles: what a process does for runs.
 *
 * Invariants
 * - A process takes on any set of them; each role has workers of its own.
 */

/** Roles a process can take on. */
export const roles = ['orchestrator', 'environment', 'policy', 'trainer'] as const
export type Role = (typeof roles)[number]
