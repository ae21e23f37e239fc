/**
 * Panels of the referee: a recipe and the problems that every method plays, and the methods by name.
 *
 * Invariants
 * - A method differs from the others of its panel in what it states here alone: the recipe's own shaping of advantages is off.
 */
import { basename, isAbsolute, relative } from 'node:path'
import { stringify } from 'yaml'
import type { SetValues } from '../../config/files/experiment.ts'
import { algorithmNames } from '../../learning/algorithms/algorithms.ts'
import type { MeasureName } from '../../learning/evaluation/measure.ts'
import type { Budget } from '../../learning/run/budget.ts'
import type { MeasuredRun } from '../experiment/measured-runs.ts'

export interface Panel {
  /** Configuration below `examples/`. */
  readonly base: string
  readonly measure: MeasureName
  /** Beside the base, for all methods. */
  readonly set: SetValues
}

export const panels = {
  offers: {
    base: 'offers/train.yaml',
    measure: 'reward',
    set: { 'evaluation.every': 14 },
  },
  household: {
    base: 'household.yaml',
    measure: 'success',
    set: { 'evaluation.every': 7 },
  },
  shop: {
    base: 'shop.yaml',
    measure: 'reward',
    set: { 'evaluation.every': 8 },
  },
  alfworld: {
    base: 'alfworld.yaml',
    measure: 'success',
    set: { 'evaluation.every': 10 },
  },
} as const satisfies Record<string, Panel>
export type PanelName = keyof typeof panels
export const panelNames = Object.keys(panels) as PanelName[]

const plain: SetValues = { 'learning.stepGroups.weight': 0, 'learning.imitation.coefficient': 0 }

/** Methods by name: each algorithm that comes with Perdure and needs no teacher, and others that settings make. */
export const methods: Readonly<Record<string, SetValues>> = {
  ...Object.fromEntries(
    algorithmNames
      .filter((name) => name !== 'imitation' && name !== 'distillation')
      .map((name) => [name, { 'learning.algorithm': name }]),
  ),
  gspo: { 'learning.algorithm': 'gspo', 'learning.lossAggregation': 'episode' },
  epo: { 'learning.algorithm': 'epo', 'learning.entropyCoefficient': 0.001 },
  step_groups: { 'learning.algorithm': 'grpo', 'learning.stepGroups.weight': 1 },
  self_imitation: { 'learning.algorithm': 'imitation' },
  best_of_group: { 'learning.algorithm': 'imitation', 'learning.imitation.by': 'best' },
  reward_weighted: { 'learning.algorithm': 'imitation', 'learning.imitation.by': 'reward' },
}

/** The method that the others are compared with. */
export const baseline = 'grpo'

/** A method that takes part. */
export interface Entrant {
  readonly name: string
  readonly set: SetValues
}

/** The method of a name, or of the path of an algorithm; undefined for any other text. */
export function entrantOf(method: string): Entrant | undefined {
  if (Object.hasOwn(methods, method)) return { name: method, set: methods[method] ?? {} }
  if (!/[/.]/.test(method)) return undefined
  const name = basename(method)
    .replace(/\.[cm]?[jt]s$/, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .slice(0, 20)
  return { name, set: { 'learning.algorithm': method } }
}

/** The content of a statement. */
export interface Stated {
  readonly panel: PanelName
  readonly entrants: readonly Entrant[]
  readonly seeds: readonly number[]
  /** Values that a user sets, for all methods. */
  readonly set: SetValues
  /** Time of training at which methods are compared too. */
  readonly at?: Pick<Budget, 'seconds' | 'cpuSeconds'>
}

/**
 * The file that states the methods of a panel: each against its own start, and against the baseline at equal updates and equal time.
 * @param examples folder of the examples @param folder where the file is to be
 */
export function statementText(
  name: string,
  { panel, entrants, seeds, at, set: own }: Stated,
  { examples, folder }: { readonly examples: string; readonly folder: string },
): string {
  const { base, measure, set }: Panel = panels[panel]
  const others = entrants.filter((each) => each.name !== baseline)
  const isCompared = others.length < entrants.length
  const claims = [
    ...entrants.map((each) => ({
      name: `${each.name}-learns`,
      better: each.name,
      than: `${each.name}@first`,
    })),
    ...(isCompared ? others : []).flatMap((each) => {
      const claim = { better: each.name, than: baseline }
      const atTime = at === undefined ? [] : [{ name: `${each.name}-leads-in-time`, ...claim, at }]
      return [{ name: `${each.name}-leads`, ...claim }, ...atTime]
    }),
  ]
  return stringify({
    name,
    base: relative(folder, `${examples}/${base}`),
    set: { ...set, ...plain, ...own },
    arms: Object.fromEntries(entrants.map((each) => [each.name, fromFolder(each.set, folder)])),
    seeds,
    measure: { of: measure },
    hypotheses: claims,
  })
}

/** The path of an algorithm, from the folder of the statement. */
function fromFolder(set: SetValues, folder: string): SetValues {
  const algorithm = set['learning.algorithm']
  if (typeof algorithm !== 'string' || !isAbsolute(algorithm)) return set
  return { ...set, 'learning.algorithm': `./${relative(folder, algorithm)}` }
}

/** The time at which the fastest run ends, and all have begun: processor time where all figures have it. */
export function commonTime(runs: readonly Pick<MeasuredRun, 'figures'>[]): Stated['at'] {
  const spent = runs.map(({ figures }) => figures.map((each) => each.spent ?? {}))
  const name = spent.flat().every(({ cpuSeconds }) => cpuSeconds !== undefined) ? 'cpuSeconds' : 'seconds'
  const times = spent.map((each) => each.map((amounts) => amounts[name] ?? 0))
  const begun = Math.max(...times.map((each) => Math.min(...each)))
  const most = Math.ceil(Math.max(begun, Math.min(...times.map((each) => Math.max(...each)))))
  return most > 0 ? { [name]: most } : undefined
}
