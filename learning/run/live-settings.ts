/**
 * Live settings: the part of a configuration that may change while a run trains. Each is one row of this table. The schema of a
 * configuration, the orders to a running run, the state that carries them, and the documents are made from the rows.
 *
 * Invariants
 * - A value that a configuration may have may be ordered, and no other.
 * - [LIVE-SETTINGS-1] A setting has its bounds, its default, its words and when it applies here and nowhere else.
 */
import type { Bounds } from './bounds.ts'

/** A setting that may change while a run trains. */
export interface LiveSetting {
  /** Bounds of the number, in a configuration and in an order. */
  readonly schema: Bounds
  /** The value where a configuration has none; null: there is no default, and an order may take the setting away. */
  readonly default: number | null
  /** Whether an order holds at once, or from the next update on. */
  readonly holds: 'now' | 'later'
  /** From when on it applies, in words. */
  readonly applies: string
  readonly words: string
}

const nextUpdate = { holds: 'later', applies: 'the next update' } as const

/** By key; `N` is the number of a task or of a gate. */
export const liveSettings = {
  'tasks.N.weight': {
    schema: { atLeast: 0, atMost: 1_000_000 },
    default: 1,
    holds: 'now',
    applies: 'the next group; with `learning.taskWeighting: equal` the next update too',
    words: 'Share of the groups, relative to the other tasks; 0: the task is only evaluated on.',
  },
  'fleet.share': {
    schema: { atLeast: 0.001, atMost: 1000 },
    default: 1,
    holds: 'now',
    applies: 'the next group',
    words: 'Share of the workers of a fleet that waiting turns get, relative to the other runs.',
  },
  'rollout.maxStaleness': {
    schema: { whole: true, atLeast: 0, atMost: 64 },
    default: 1,
    holds: 'now',
    applies: 'at once',
    words: 'Largest staleness of a group, in updates (η); 0 is synchronous.',
  },
  'rollout.groupsInFlight': {
    schema: { whole: true, atLeast: 1, atMost: 65_536 },
    default: null,
    holds: 'now',
    applies: 'at once; groups in flight are played to their end',
    words: 'Largest number of groups that are played at once; by default as many as `maxStaleness` allows.',
  },
  'evaluation.gates.N.drop': {
    schema: { atLeast: 0 },
    default: 0.1,
    holds: 'now',
    applies: "the next evaluation of the gate's suite that ends",
    words:
      'Largest loss that the gate allows: of success a share of the episodes, of another measure in its unit.',
  },
  'learning.minibatches': {
    schema: { whole: true, atLeast: 1, atMost: 4096 },
    default: 1,
    ...nextUpdate,
    words: 'Minibatches that an update divides its episodes into; each gets an optimizer step.',
  },
  'learning.passes': {
    schema: { whole: true, atLeast: 1, atMost: 64 },
    default: 1,
    ...nextUpdate,
    words: 'Passes of an update over its episodes.',
  },
  'learning.targetKl': {
    schema: { atLeast: 0, atMost: 100 },
    default: 0,
    ...nextUpdate,
    words: 'An update ends before the step that finds a `drift` above 1.5 times this; 0: never.',
  },
  'learning.clipLow': {
    schema: { above: 0, atMost: 1 },
    default: 0.2,
    ...nextUpdate,
    words: 'Lower clip ε: the ratio is clipped at 1 − ε.',
  },
  'learning.clipHigh': {
    schema: { above: 0, atMost: 100 },
    default: 0.2,
    ...nextUpdate,
    words: 'Upper clip ε: the ratio is clipped at 1 + ε.',
  },
  'learning.dualClip': {
    schema: { above: 1, atMost: 1000 },
    default: 3,
    ...nextUpdate,
    words: 'Bound of the loss for negative advantages.',
  },
  'learning.klCoefficient': {
    schema: { atLeast: 0, atMost: 100 },
    default: 0.0001,
    ...nextUpdate,
    words: 'Weight β of the divergence from the warm-started policy; 0 leaves it out.',
  },
  'learning.entropyCoefficient': {
    schema: { atLeast: 0, atMost: 10 },
    default: 0,
    ...nextUpdate,
    words: 'Weight of the entropy bonus.',
  },
  'learning.learningRate': {
    schema: { above: 0, atMost: 1 },
    default: 0.0003,
    ...nextUpdate,
    words: 'Learning rate of AdamW, at the top of its schedule.',
  },
  'learning.weightDecay': {
    schema: { atLeast: 0, atMost: 10 },
    default: 0,
    ...nextUpdate,
    words: 'Decoupled weight decay.',
  },
  'learning.gradientClip': {
    schema: { above: 0, atMost: 1_000_000 },
    default: 1,
    ...nextUpdate,
    words: 'Largest global gradient norm.',
  },
  'learning.gradientLimit': {
    schema: { above: 0, atMost: 1_000_000_000_000 },
    default: 1000,
    ...nextUpdate,
    words:
      'Global gradient norm, before it is clipped, above which an update is refused: the run keeps its version and pauses.',
  },
} as const satisfies Readonly<Record<string, LiveSetting>>

export type LiveKey = keyof typeof liveSettings

/** The names of the live settings of a section. */
export type LiveNames<Section extends string> = LiveKey extends infer Key
  ? Key extends `${Section}.${infer Name}`
    ? Name
    : never
  : never

/** The rows of a section by their names within it. @example rowsOf('rollout') // [['maxStaleness', …], ['groupsInFlight', …]] */
export function rowsOf<Section extends 'learning' | 'rollout'>(
  section: Section,
): readonly (readonly [LiveNames<Section>, LiveSetting])[] {
  return Object.entries(liveSettings).flatMap(([key, row]) =>
    key.startsWith(`${section}.`)
      ? [[key.slice(section.length + 1) as LiveNames<Section>, row] as const]
      : [],
  )
}
