/**
 * Steering: how a training run answers signals, queries and updates.
 *
 * Invariants
 * - Handlers are set before the run first waits.
 * - Validators are synchronous and change nothing; a refused update leaves the run as it was.
 */
import { ApplicationFailure, setHandler } from '@temporalio/workflow'
import {
  evaluateNow,
  evaluationEnded,
  groupEnded,
  type LearningChange,
  pause,
  progress,
  resume,
  setLearning,
  setTaskMix,
  stop,
} from './messages.ts'
import { startEvaluation } from './training-children.ts'
import { progressOf, receiveEvaluation, receiveGroup, type TrainingState } from './training-state.ts'

/** Lets the run hear its groups, its evaluations and its users. */
export function listen(state: TrainingState): void {
  setHandler(groupEnded, (report) => receiveGroup(state, report))
  setHandler(evaluationEnded, (summary) => receiveEvaluation(state, summary))
  setHandler(progress, () => progressOf(state))
  setHandler(pause, () => turn(state, true), { validator: () => refuseWhenEnding(state, 'paused') })
  setHandler(resume, () => turn(state, false), { validator: () => refuseWhenEnding(state, 'continued') })
  setHandler(stop, () => {
    state.stopRequested = true
    return state.phase
  })
  setHandler(
    setTaskMix,
    (weights) => {
      state.weights = [...weights]
    },
    { validator: (weights) => refuseWeights(state, weights) },
  )
  setHandler(
    setLearning,
    (change) => {
      state.learning = { ...state.learning, ...change }
    },
    { validator: refuseLearning },
  )
  setHandler(evaluateNow, ({ suite }) => startEvaluation(state, suite), {
    validator: (request) => refuseSuite(state, request?.suite),
  })
}

function turn(state: TrainingState, paused: boolean): TrainingState['phase'] {
  state.paused = paused
  if (state.phase === 'training' || state.phase === 'paused') state.phase = paused ? 'paused' : 'training'
  return state.phase
}

function refuse(message: string): never {
  throw ApplicationFailure.nonRetryable(message, 'SteeringRefused')
}

function refuseWhenEnding(state: TrainingState, what: string): void {
  if (state.stopRequested || state.phase === 'done' || state.phase === 'failed')
    refuse(`run ${state.run} is ending and cannot be ${what}`)
}

function refuseWeights(state: TrainingState, weights: readonly number[]): void {
  const count = state.config.tasks.length
  if (!Array.isArray(weights) || weights.length !== count)
    refuse(`the task mix needs ${count} weights, one per configured task`)
  if (
    !weights.every((weight) => Number.isFinite(weight) && weight >= 0) ||
    !weights.some((weight) => weight > 0)
  )
    refuse('weights of the task mix must be numbers of at least 0, one of them above 0')
}

const learningBounds: Readonly<Record<keyof LearningChange, readonly [number, number]>> = {
  learningRate: [0, 1],
  klCoefficient: [0, 100],
  entropyCoefficient: [0, 100],
  clipLow: [0, 1],
  clipHigh: [0, 100],
}

function refuseLearning(change: LearningChange): void {
  if (typeof change !== 'object' || change === null)
    refuse(`name the settings to change; these can be: ${Object.keys(learningBounds).join(', ')}`)
  for (const [key, value] of Object.entries(change)) {
    if (!Object.hasOwn(learningBounds, key))
      refuse(
        `"${key}" cannot be changed while training; these can: ${Object.keys(learningBounds).join(', ')}`,
      )
    const [low, high] = learningBounds[key as keyof LearningChange]
    if (typeof value !== 'number' || !(value >= low && value <= high))
      refuse(`${key} must be a number from ${low} to ${high}, not ${String(value)}`)
  }
}

function refuseSuite(state: TrainingState, suite: string | undefined): void {
  const names = state.config.evaluation.suites.map((candidate) => candidate.name)
  if (suite === undefined || !names.includes(suite))
    refuse(`unknown suite "${suite}"; configured: ${names.join(', ') || 'none'}`)
}
