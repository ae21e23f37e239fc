/**
 * Live settings: what of a configuration may change while the run is in progress, and how each is read and written.
 *
 * Invariants
 * - Reading and checking change nothing; a change is applied whole or not at all.
 * - A value that the schema would refuse in a configuration is refused here.
 */
import { type Bounds, boundsInWords, isWithin, liveBounds } from '../learning/bounds.ts'
import { settingsInForce } from '../learning/settings-in-force.ts'
import { largestState, mostOutstanding, mostStateBytes, type StateSize } from '../learning/state-bounds.ts'
import { isPlayable, playableWords } from '../learning/task-mix.ts'
import { shownValue, wrongValueWords } from '../learning/wrong-value.ts'
import { gatesInForce } from './gate-settings.ts'
import type { LearningChange, RolloutChange, SettingsChange } from './messages.ts'
import { rolloutSettings } from './rollout-settings.ts'
import type { TrainingState } from './training-state.ts'
import { changeGateDrop, changeLearning, changeRollout, changeWeight } from './transitions/settings.ts'

type LiveKey = keyof typeof liveBounds

/** How a live setting is read and written. */
interface Setting {
  readonly bounds: Bounds
  /** Null takes the setting away. */
  readonly nullable: boolean
  /** Whether it holds at once, or from the next update on. */
  readonly holds: 'now' | 'later'
  read(state: TrainingState): number | null
  write(state: TrainingState, value: number | null): void
}

type LearningKey = keyof LearningChange

function learning(key: LearningKey): Setting {
  return {
    bounds: liveBounds[`learning.${key}`],
    nullable: false,
    holds: 'later',
    // A configuration of an earlier release lacks newer settings.
    read: ({ config, learning }) => settingsInForce(config.learning, learning)[key] ?? null,
    write: (state, value) => changeLearning(state, { [key]: value }),
  }
}

function rollout(key: keyof RolloutChange): Setting {
  return {
    bounds: liveBounds[`rollout.${key}`],
    nullable: key === 'groupsInFlight',
    holds: 'now',
    read: (state) => rolloutSettings(state)[key],
    write: (state, value) => changeRollout(state, { [key]: value }),
  }
}

function weight(task: number): Setting {
  return {
    bounds: liveBounds['tasks.N.weight'],
    nullable: false,
    holds: 'now',
    read: (state) => state.weights[task] ?? null,
    write: (state, value) => changeWeight(state, task, value ?? 0),
  }
}

function gateDrop(gate: number): Setting {
  return {
    bounds: liveBounds['evaluation.gates.N.drop'],
    nullable: false,
    holds: 'now',
    read: (state) => gatesInForce(state)[gate]?.drop ?? null,
    write: (state, value) => changeGateDrop(state, gate, value ?? 0),
  }
}

const settingsOfAll: Readonly<Record<Exclude<LiveKey, `${string}.N.${string}`>, Setting>> = {
  'rollout.maxStaleness': rollout('maxStaleness'),
  'rollout.groupsInFlight': rollout('groupsInFlight'),
  'learning.learningRate': learning('learningRate'),
  'learning.klCoefficient': learning('klCoefficient'),
  'learning.entropyCoefficient': learning('entropyCoefficient'),
  'learning.clipLow': learning('clipLow'),
  'learning.clipHigh': learning('clipHigh'),
  'learning.dualClip': learning('dualClip'),
  'learning.gradientClip': learning('gradientClip'),
  'learning.gradientLimit': learning('gradientLimit'),
  'learning.minibatches': learning('minibatches'),
  'learning.passes': learning('passes'),
  'learning.weightDecay': learning('weightDecay'),
}

/** Every live setting of a run, by its key in a configuration. */
function liveSettings({ config }: TrainingState): ReadonlyMap<string, Setting> {
  return new Map([
    ...config.tasks.map((_, task): [string, Setting] => [`tasks.${task}.weight`, weight(task)]),
    ...Object.entries(settingsOfAll),
    // A configuration of an earlier release has no gates.
    ...(config.evaluation.gates ?? []).map((_, gate): [string, Setting] => [
      `evaluation.gates.${gate}.drop`,
      gateDrop(gate),
    ]),
  ])
}

/** Every live setting of a run as it holds now, with what it may become, in words. */
export function settingsNow(
  state: TrainingState,
): readonly { readonly key: string; readonly value: number | null; readonly allowed: string }[] {
  return [...liveSettings(state)].map(([key, { bounds, nullable, read }]) => ({
    key,
    value: read(state),
    allowed: nullable ? `${boundsInWords(bounds)}, or none` : boundsInWords(bounds),
  }))
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
    const { bounds, nullable } = setting
    if ((value === null && nullable) || isWithin(bounds, value)) continue
    const allowed = boundsInWords(bounds)
    return wrongValueWords(key, shownValue(value), nullable ? `${allowed}, or none` : allowed)
  }
  const weights = state.weights.map((before, task) => change[`tasks.${task}.weight`] ?? before)
  if (!isPlayable(weights)) return wrongValueWords('tasks.0.weight', String(weights[0]), playableWords)
  return objectionToSize(state, change)
}

/** More groups outstanding than the state of the run may hold. */
function objectionToSize(state: TrainingState, change: SettingsChange): string | undefined {
  const now = rolloutSettings(state)
  const { groupsPerUpdate } = now
  const maxStaleness = change['rollout.maxStaleness'] ?? now.maxStaleness
  const { 'rollout.groupsInFlight': groupsInFlight = now.groupsInFlight } = change
  const asOf = (rollout: StateSize['rollout']) => ({
    ...state.config,
    rollout: { ...state.config.rollout, ...rollout },
  })
  const after = asOf({ groupsPerUpdate, maxStaleness, groupsInFlight })
  const size = largestState(after)
  if (size <= mostStateBytes || size <= largestState(asOf(now))) return undefined
  return `rollout.maxStaleness: a run carries no more than ${mostOutstanding(after)} groups, and ${maxStaleness + 1} × ${groupsPerUpdate} might be on their way`
}
