/**
 * Live settings: what of a configuration may change while the run goes on, and within which bounds.
 *
 * Invariants
 * - Reading and checking change nothing; a change is applied whole or not at all.
 * - A value that the schema would refuse in a configuration is refused here.
 */
import { largestState, mostOutstanding, mostStateBytes, type StateSize } from '../learning/state-bounds.ts'
import type { LearningChange, RolloutChange, SettingsChange } from './messages.ts'
import type { TrainingState } from './training-state.ts'

interface Setting {
  readonly low: number
  readonly high: number
  readonly whole?: true
  /** Null takes the setting away. */
  readonly nullable?: true
  /** Whether it holds at once, or from the next update on. */
  readonly holds: 'now' | 'later'
  read(state: TrainingState): number | null
  write(state: TrainingState, value: number | null): void
}

type LearningKey = keyof LearningChange

function learning(key: LearningKey, low: number, high: number): Setting {
  return {
    low,
    high,
    holds: 'later',
    read: (state) => state.learning[key] ?? state.config.learning[key],
    write: (state, value) => {
      state.learning = { ...state.learning, [key]: value }
    },
  }
}

const learningSettings: Readonly<Record<LearningKey, Setting>> = {
  learningRate: learning('learningRate', 0, 1),
  klCoefficient: learning('klCoefficient', 0, 100),
  entropyCoefficient: learning('entropyCoefficient', 0, 100),
  clipLow: learning('clipLow', 0, 1),
  clipHigh: learning('clipHigh', 0, 100),
  dualClip: learning('dualClip', 1.0001, 1000),
  gradientClip: learning('gradientClip', 1e-9, 1_000_000),
  weightDecay: learning('weightDecay', 0, 10),
}

function rollout(key: keyof RolloutChange, bounds: Pick<Setting, 'low' | 'high' | 'nullable'>): Setting {
  return {
    ...bounds,
    whole: true,
    holds: 'now',
    read: (state) => rolloutSettings(state)[key],
    write: (state, value) => {
      state.rollout = { ...state.rollout, [key]: value }
    },
  }
}

const rolloutKeys: Readonly<Record<keyof RolloutChange, Setting>> = {
  maxStaleness: rollout('maxStaleness', { low: 0, high: 64 }),
  groupsInFlight: rollout('groupsInFlight', { low: 1, high: 65_536, nullable: true }),
}

function weight(task: number): Setting {
  return {
    low: 0,
    high: 1_000_000,
    holds: 'now',
    read: (state) => state.weights[task] ?? null,
    write: (state, value) => {
      state.weights[task] = value ?? 0
    },
  }
}

/** Every live setting of a run, by its key in a configuration. */
function liveSettings({ config }: TrainingState): ReadonlyMap<string, Setting> {
  return new Map([
    ...config.tasks.map((_, task): [string, Setting] => [`tasks.${task}.weight`, weight(task)]),
    ...Object.entries(rolloutKeys).map(([key, setting]): [string, Setting] => [`rollout.${key}`, setting]),
    ...Object.entries(learningSettings).map(([key, setting]): [string, Setting] => [
      `learning.${key}`,
      setting,
    ]),
  ])
}

/** What bounds admission now: the configuration, and what was ordered since. */
export function rolloutSettings(state: TrainingState): {
  readonly groupsPerUpdate: number
  readonly maxStaleness: number
  readonly groupsInFlight: number | null
} {
  const { rollout } = state.config
  const { maxStaleness, groupsInFlight } = state.rollout
  return {
    groupsPerUpdate: rollout.groupsPerUpdate,
    maxStaleness: maxStaleness ?? rollout.maxStaleness,
    groupsInFlight: groupsInFlight === undefined ? (rollout.groupsInFlight ?? null) : groupsInFlight,
  }
}

/** One setting's change. */
export interface SettingChanged {
  readonly key: string
  readonly from: number | null
  readonly to: number | null
  readonly holds: 'now' | 'later'
}

/** Applies a change that was found good. @returns what it changed */
export function applySettings(state: TrainingState, change: SettingsChange): readonly SettingChanged[] {
  const settings = liveSettings(state)
  return Object.entries(change).flatMap(([key, to]) => {
    const setting = settings.get(key)
    if (setting === undefined) return []
    const from = setting.read(state)
    setting.write(state, to)
    return [{ key, from, to, holds: setting.holds }]
  })
}

/** @returns why a change cannot be made, in words; undefined for a good one */
export function objectionTo(state: TrainingState, change: SettingsChange): string | undefined {
  const settings = liveSettings(state)
  const known = [...settings.keys()].join(', ')
  if (typeof change !== 'object' || change === null || Object.keys(change).length === 0)
    return `name the settings to change; these can be: ${known}`
  for (const [key, value] of Object.entries(change)) {
    const setting = settings.get(key)
    if (setting === undefined) return `"${key}" cannot be changed while training; these can: ${known}`
    if (value === null && setting.nullable) continue
    const { low, high, whole = false, nullable = false } = setting
    const isGood = typeof value === 'number' && value >= low && value <= high
    if (!isGood || (whole && !Number.isInteger(value)))
      return `${key} must be a ${whole ? 'whole ' : ''}number from ${low} to ${high}${nullable ? ' or none' : ''}, not ${String(value)}`
  }
  const weights = state.weights.map((before, task) => change[`tasks.${task}.weight`] ?? before)
  if (!weights.some((each) => each > 0)) return 'weights of the task mix: at least one must be above 0'
  return objectionToSize(state, change)
}

/** More groups outstanding than the state of the run may hold. */
function objectionToSize(state: TrainingState, change: SettingsChange): string | undefined {
  const now = rolloutSettings(state)
  const { groupsPerUpdate } = now
  const maxStaleness = change['rollout.maxStaleness'] ?? now.maxStaleness
  const { 'rollout.groupsInFlight': groupsInFlight = now.groupsInFlight } = change
  const asOf = (rollout: StateSize['rollout']) => ({ ...state.config, rollout })
  const after = asOf({ groupsPerUpdate, maxStaleness, groupsInFlight })
  const size = largestState(after)
  if (size <= mostStateBytes || size <= largestState(asOf(now))) return undefined
  return `rollout.maxStaleness: a run carries no more than ${mostOutstanding(after)} groups, and ${maxStaleness + 1} × ${groupsPerUpdate} might be on their way`
}
