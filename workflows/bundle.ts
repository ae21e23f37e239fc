/**
 * The workflows as one bundle: what a worker runs in the workflow sandbox, and nothing else.
 */
export { branch } from './branch.ts'
export { episode } from './episode.ts'
export { evaluation } from './evaluation.ts'
export { experiment } from './experiment.ts'
export { rolloutGroup } from './rollout-group.ts'
export { scheduledEvaluation } from './scheduled-evaluation.ts'
export { trainingRun } from './training-run.ts'
