/**
 * Curves of runs, from the lines of their metrics and the rewards of the groups that updates consumed.
 *
 * Invariants
 * - [RUN-CURVES-1] All columns are as long as there are updates; what a line lacks is null.
 * - [RUN-CURVES-2] Lines are read once: asked again, only what came since is. The figures of the runs that were asked for
 *   last are kept, `mostRuns` of them.
 * - Success counts groups as what is drawn (`learning/statistics/grouped-interval.ts`).
 */
import { settingAt } from '../../client/run/past-settings.ts'
import { rolloutSettings } from '../../contract/training-state.ts'
import { isSuccess, rewardRules } from '../../learning/evaluation/reward.ts'
import { ratioEdges } from '../../learning/loss/ratio-statistics.ts'
import { isEvaluationMetrics, isUpdateMetrics, type UpdateMetrics } from '../../storage/metrics/metrics.ts'
import type { StoredGroup } from '../../storage/records/groups.ts'
import {
  type Column,
  type FigureName,
  mostPoints,
  type RatioColumn,
  type RunCurves,
  taskColumns,
} from '../contract/curves.ts'
import type { ShownHome } from '../home/shown-home.ts'
import { knownRun, type ShownRun } from './known-run.ts'
import { figuresOf, metricPointsOf, taskPointsOf, type UpdatePoint } from './update-point.ts'

const mostRuns = 6

/** The points of a run that have been read. */
interface Read {
  mark: number
  readonly points: UpdatePoint[]
  readonly refused: { readonly step: number; readonly reason: string }[]
  readonly rollbacks: {
    readonly version: number
    readonly to: number
    readonly from: number
    readonly time: number
  }[]
}

export interface Curves {
  /** @param after only of updates beyond this step @throws Refused `unknown` */
  curves(run: string, after: number): Promise<RunCurves>
}

export function createCurves(shown: ShownHome): Curves {
  const { store } = shown
  const kept = new Map<string, Read>()
  /** Readings of one run take their turns: two at once would take a line twice. */
  let reading: Promise<unknown> = Promise.resolve()

  async function read(run: ShownRun): Promise<Read> {
    const known = kept.get(run.id) ?? { mark: 0, points: [], refused: [], rollbacks: [] }
    kept.delete(run.id)
    kept.set(run.id, known)
    for (const oldest of kept.keys()) {
      if (kept.size <= mostRuns) break
      kept.delete(oldest)
    }
    const { lines, mark } = await store.metrics.after(run.id, known.mark)
    for (const line of lines) {
      if (isUpdateMetrics(line)) known.points.push(await pointOf(run, line, known.points.at(-1)))
      else if (!isEvaluationMetrics(line))
        known.rollbacks.push({
          version: line.version,
          to: line.rollback,
          from: line.from,
          time: Date.parse(line.time),
        })
      if (isUpdateMetrics(line) && typeof line.refused === 'string')
        known.refused.push({ step: line.step, reason: line.refused })
    }
    known.points.sort((a, b) => a.step - b.step)
    known.mark = mark
    return known
  }

  async function pointOf(
    { id, record, config }: ShownRun,
    line: UpdateMetrics,
    before: UpdatePoint | undefined,
  ): Promise<UpdatePoint> {
    const update = await store.updates.get(id, line.step)
    const groups: StoredGroup[] = []
    for (const group of update?.groups ?? []) {
      const stored = await store.groups.get(group)
      if (stored?.result !== undefined) groups.push(stored)
    }
    const rewardsOf = ({ task, result }: StoredGroup) => {
      const rewards = result?.rewards ?? []
      const rules = rewardRules(config, task)
      return { task, rewards, won: rewards.filter((reward) => isSuccess(reward, rules)).length }
    }
    const turns = await store.episodes.turns(groups.map((group) => group.id))
    const time = Date.parse(line.time)
    const seconds = (time - (before?.time ?? record.created)) / 1000
    return {
      step: line.step,
      version: line.version,
      time,
      turns,
      figures: figuresOf(line, { seconds, turns }),
      tasks: taskPointsOf(line, groups.map(rewardsOf)),
      metrics: metricPointsOf(line),
      fresh: line.fresh,
      stale: line.stale,
    }
  }

  return {
    async curves(name, after) {
      const run = await knownRun(shown, name)
      const turn = reading.then(() => read(run))
      reading = turn.catch(() => undefined)
      return curvesOf(run, await turn, after)
    },
  }
}

function curvesOf(run: ShownRun, { points, refused, rollbacks }: Read, after: number): RunCurves {
  const every = Math.max(1, Math.ceil(points.length / mostPoints))
  const shown = points.filter(
    ({ step }, index) => step > after && (index % every === 0 || index === points.length - 1),
  )
  const tokens = sumsOf(points, ({ figures }) => figures.tokens ?? 0)
  const turns = sumsOf(points, (point) => point.turns)
  const tasks = [...new Set(points.flatMap((point) => Object.keys(point.tasks)))]
  const names = Object.keys(points[0]?.figures ?? {}) as FigureName[]
  const ratios = (which: 'fresh' | 'stale'): RatioColumn => ({
    kl: shown.map((point) => point[which]?.kl ?? null),
    effective_share: shown.map((point) => point[which]?.effective_share ?? null),
    tokens: shown.map((point) => point[which]?.tokens ?? null),
    ratios: shown.map((point) => point[which]?.ratios ?? null),
  })
  return {
    run: run.id,
    every,
    step: shown.map(({ step }) => step),
    version: shown.map(({ version }) => version),
    time: shown.map(({ time }) => time),
    tokensSoFar: shown.map(({ step }) => tokens.get(step) ?? 0),
    turnsSoFar: shown.map(({ step }) => turns.get(step) ?? 0),
    figures: columns(
      names,
      shown.map(({ figures }) => figures),
    ),
    tasks: Object.fromEntries(
      tasks.map((task) => [
        task,
        columns(
          taskColumns,
          shown.map((point) => point.tasks[task]),
        ),
      ]),
    ),
    metrics: Object.fromEntries(
      tasks.map((task) => {
        const rows = shown.map(({ metrics }) => metrics[task] ?? {})
        return [task, columns([...new Set(rows.flatMap((row) => Object.keys(row)))], rows)]
      }),
    ),
    units: unitsOf(run),
    ratioEdges,
    fresh: ratios('fresh'),
    stale: ratios('stale'),
    stalenessBound: stalenessBounds(run, shown),
    refused: refused.filter(({ step }) => step > after),
    rollbacks,
    created: run.record.created,
  }
}

function unitsOf({ config }: ShownRun): RunCurves['units'] {
  const declared = config.tasks.flatMap(({ metrics }) => Object.entries(metrics))
  return Object.fromEntries(
    declared.flatMap(([name, { unit }]) => (unit === undefined ? [] : [[name, unit]])),
  )
}

/** By step, the sum up to it. */
function sumsOf(
  points: readonly UpdatePoint[],
  amountOf: (point: UpdatePoint) => number,
): ReadonlyMap<number, number> {
  let sum = 0
  return new Map(
    points.map((point) => {
      sum += amountOf(point)
      return [point.step, sum]
    }),
  )
}

/** As each update was held to it: an order holds from its version on alone. */
function stalenessBounds({ state, trail }: ShownRun, points: readonly UpdatePoint[]): readonly number[] {
  const key = 'rollout.maxStaleness'
  const now = rolloutSettings(state).maxStaleness
  const own = trail.filter(({ what }) => what === key)
  return points.map(({ version }) => settingAt(own, { key, version, now }))
}

/** Rows as columns. */
function columns<Name extends string>(
  names: readonly Name[],
  rows: readonly (Readonly<Partial<Record<Name, number | null>>> | undefined)[],
): Readonly<Record<Name, Column>> {
  const found = names.map((name): [Name, Column] => [name, rows.map((row) => row?.[name] ?? null)])
  return Object.fromEntries(found) as Record<Name, Column>
}
