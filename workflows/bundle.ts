/**
 * The workflows as one bundle, which a worker runs in the workflow sandbox.
 */

export { experiment } from './experiment.ts'
export { branch } from './play/branch.ts'
export { episode } from './play/episode.ts'
export { evaluation } from './play/evaluation.ts'
export { rolloutGroup } from './play/rollout-group.ts'
export { scheduledEvaluation } from './play/scheduled-evaluation.ts'
export { trainingRun } from './run/training-run.ts'
