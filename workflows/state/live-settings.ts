/**
 * Live settings: the keys of a configuration that may change while the run is in progress, and how each is read and written.
 * `learning/run/live-settings.ts` has the values that each allows.
 *
 * Invariants
 * - Reading and checking change nothing; a change is applied whole or not at all.
 * - A value that the schema would refuse in a configuration is refused here.
 */

import type { SettingsChange } from '../../contract/messages.ts'
import {
  fleetShare,
  gatesInForce,
  rolloutSettings,
  type TrainingState,
} from '../../contract/training-state.ts'
import { dropBounds } from '../../learning/evaluation/gate.ts'
import { isPlayable, playableWords } from '../../learning/rollout/task-mix.ts'
import { boundsInWords, isWithin } from '../../learning/run/bounds.ts'
import { type LiveNames, type LiveSetting, liveSettings, rowsOf } from '../../learning/run/live-settings.ts'
import { settingsInForce } from '../../learning/run/settings-in-force.ts'
import {
  largestState,
  mostOutstanding,
  mostStateBytes,
  type StateSize,
} from '../../learning/run/state-bounds.ts'
import { shownValue, wrongValueWords } from '../../learning/run/wrong-value.ts'
import {
  changeGateDrop,
  changeLearning,
  changeRollout,
  changeShare,
  changeWeight,
} from './transitions/settings.ts'

/** How a live setting is read and written. */
interface Setting extends LiveSetting {
  read(state: TrainingState): number | null
  write(state: TrainingState, value: number | null): void
}

function learning(name: LiveNames<'learning'>): Setting {
  return {
    ...liveSettings[`learning.${name}`],
    read: ({ config, learning }) => settingsInForce(config.learning, learning)[name],
    write: (state, value) => changeLearning(state, { [name]: value }),
  }
}

function rollout(name: LiveNames<'rollout'>): Setting {
  return {
    ...liveSettings[`rollout.${name}`],
    read: (state) => rolloutSettings(state)[name],
    write: (state, value) => changeRollout(state, { [name]: value }),
  }
}

const share: Setting = {
  ...liveSettings['fleet.share'],
  read: fleetShare,
  write: (state, value) => changeShare(state, value ?? liveSettings['fleet.share'].default),
}

function weight(task: number): Setting {
  return {
    ...liveSettings['tasks.N.weight'],
    read: (state) => state.weights[task] ?? null,
    write: (state, value) => changeWeight(state, task, value ?? 0),
  }
}

function gateDrop({ suites, gates }: TrainingState['config']['evaluation'], gate: number): Setting {
  const suite = suites.find(({ name }) => name === gates[gate]?.suite)
  return {
    ...liveSettings['evaluation.gates.N.drop'],
    schema: dropBounds(suite?.measure?.of ?? 'success'),
    read: (state) => gatesInForce(state)[gate]?.drop ?? null,
    write: (state, value) => changeGateDrop(state, gate, value ?? 0),
  }
}

/** Every live setting of a run, by its key in a configuration. */
function settingsOf({ config }: TrainingState): ReadonlyMap<string, Setting> {
  return new Map([
    ...config.tasks.map((_, task): [string, Setting] => [`tasks.${task}.weight`, weight(task)]),
    ['fleet.share', share],
    ...rowsOf('rollout').map(([name]): [string, Setting] => [`rollout.${name}`, rollout(name)]),
    ...rowsOf('learning').map(([name]): [string, Setting] => [`learning.${name}`, learning(name)]),
    ...config.evaluation.gates.map((_, gate): [string, Setting] => [
      `evaluation.gates.${gate}.drop`,
      gateDrop(config.evaluation, gate),
    ]),
  ])
}

/** The present value of every live setting of a run, with the values that it allows, in words. */
export function settingsNow(
  state: TrainingState,
): readonly { readonly key: string; readonly value: number | null; readonly allowed: string }[] {
  return [...settingsOf(state)].map(([key, setting]) => ({
    key,
    value: setting.read(state),
    allowed: allowedWords(setting),
  }))
}

function allowedWords({ schema, default: given }: LiveSetting): string {
  return given === null ? `${boundsInWords(schema)}, or none` : boundsInWords(schema)
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
  const settings = settingsOf(state)
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
  const settings = settingsOf(state)
  const known = [...settings.keys()].join(', ')
  if (typeof change !== 'object' || change === null || Object.keys(change).length === 0)
    return `name the settings to change; these can be: ${known}`
  for (const [key, value] of Object.entries(change)) {
    const setting = settings.get(key)
    if (setting === undefined) return `"${key}" cannot be changed while training; these can: ${known}`
    if ((value === null && setting.default === null) || isWithin(setting.schema, value)) continue
    return wrongValueWords(key, shownValue(value), allowedWords(setting))
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
  const asOf = (rollout: Partial<StateSize['rollout']>) => ({
    ...state.config,
    rollout: { ...state.config.rollout, ...rollout },
  })
  const after = asOf({ groupsPerUpdate, maxStaleness, groupsInFlight })
  const size = largestState(after)
  if (size <= mostStateBytes || size <= largestState(asOf(now))) return undefined
  return `rollout.maxStaleness: a run carries no more than ${mostOutstanding(after)} groups, and ${maxStaleness + 1} × ${groupsPerUpdate} might be on their way`
}
