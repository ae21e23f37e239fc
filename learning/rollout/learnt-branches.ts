/**
 * Learnt branches: which branches of an agent's episode an update learns from. Every other episode has one.
 *
 * `all` learns every token once: a turn that several branches share counts in the first of them. Each has the advantage of the episode,
 * also what the agent sampled and threw away, and an episode of many branches has more tokens in the loss. `last` learns the branch of
 * the last turn, with the turns that it shares: what other branches did for it (a summary, the work of a sub-agent) is not learnt, so
 * these only change as a side effect.
 */
export const learntBranches = ['all', 'last'] as const
export type LearntBranches = (typeof learntBranches)[number]
