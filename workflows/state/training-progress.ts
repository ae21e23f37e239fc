/**
 * Progress of a training run, for queries and for the stored state.
 *
 * Invariants
 * - Every value comes from the state, which may be a stored one.
 */

import type { RunProgress } from '../../contract/messages.ts'
import type { TrainingState } from '../../contract/training-state.ts'
import { fruitlessWords, holdOffSeconds } from './fruitless-groups.ts'

/** The run's answer to a progress query. */
export function progressOf(state: TrainingState): RunProgress {
  return {
    run: state.run,
    phase: state.phase,
    version: state.version,
    step: state.step,
    updates: state.config.training.updates,
    ...(state.warmStart === null ? {} : { warmStart: state.warmStart }),
    episodesInFlight: state.inFlight.length * state.config.rollout.groupSize,
    groupsInFlight: state.inFlight.length,
    groupsReady: state.ready.length,
    staleness: state.staleness,
    episodes: state.episodes,
    tokens: state.tokens,
    success: state.success,
    reward: state.reward,
    samples: state.samples,
    evaluations: state.evaluations,
    ...(state.failedEvaluations.length === 0 ? {} : { failedEvaluations: state.failedEvaluations }),
    startedAt: state.startedAt,
    emptyUpdates: state.emptyUpdates,
    ...(state.nothingLearnt === null ? {} : { nothingLearnt: state.nothingLearnt }),
    ...(state.message === undefined ? {} : { message: state.message }),
    ...(state.leftOut === undefined || state.leftOut.count === 0
      ? {}
      : { leftOut: { count: state.leftOut.count, reason: state.leftOut.reason } }),
    ...(holdOffSeconds(state) > 0 ? { warning: fruitlessWords(state) } : {}),
    ...(state.paused && state.pauseReason !== null ? { pauseReason: state.pauseReason } : {}),
  }
}
