/**
 * `experiment plan FILE`: the seeds and instances that the claims of a file need, and what they cost.
 *
 * Invariants
 * - It reads a pilot and starts nothing.
 */
import { Command } from 'commander'
import {
  type ExperimentPlanReport,
  type PlannedHypothesis,
  planExperiment,
} from '../../client/experiment/experiment-plan.ts'
import type { RunCost } from '../../client/experiment/measured-runs.ts'
import { loadExperiment } from '../../config/files/experiment.ts'
import { statedMeasure } from '../../learning/evaluation/measure.ts'
import { differenceOf } from '../../learning/statistics/figures.ts'
import { percent } from '../../learning/statistics/percent.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { positiveNumber, type ReportOptions, reporting } from '../terminal/options.ts'
import { Table } from '../terminal/table.ts'
import { openTerminal } from '../terminal/terminal.ts'
import { count, duration } from '../terminal/wording.ts'
import { claimWords } from './experiment-table.ts'

interface PlanOptions extends ReportOptions {
  readonly points?: number
}

export function experimentPlanCommand(): Command {
  return reporting(
    new Command('plan')
      .summary('find the seeds and instances that claims need, by the spread of a pilot')
      .description(
        'Finds how many seeds each arm needs so that 80 of 100 experiments find a difference of a given size, by the test and level of\n' +
          'the file, and what they cost. The spread is that of a pilot: the experiment of this name, or what `pilot` in the file names.',
      )
      .argument('<file>', 'YAML file of the planned experiment')
      .option(
        '--points <n>',
        'the true difference to be found for claims without `detect`: in points, or in the unit of a measure that is no share',
        positiveNumber,
      ),
    ['experiment plan examples/experiments/smoke.yaml --points 10', 'experiment plan mine.yaml --json'],
  ).action(async (file: string, options: PlanOptions) => {
    const terminal = openTerminal(options)
    const loaded = loadExperiment(file)
    const { measure = 'success' } = loaded.statement
    const points = options.points && options.points / (statedMeasure(measure).isShare ? 100 : 1)
    const plan = await planExperiment(homeAt(options.home), loaded, points)
    terminal.report({ ...plan }, planLines(plan, measure))
  })
}

/** A plan in tables and lines. */
export function planLines(
  { experiment, pilot, seeds, arms, claims }: ExperimentPlanReport,
  measure: string,
): readonly (string | Table)[] {
  const { isShare } = statedMeasure(measure)
  return [
    `${experiment}: ${arms} arms, planned with the spread of ${pilot}`,
    new Table({
      head: ['claim', 'true difference', 'instances', 'seeds', 'finds it', 'runs', 'time', 'CPU', 'tokens'],
      rows: claims.flatMap((claim) =>
        claim.sizes.map(({ instances, seeds: needed, power, cost }, at) => [
          at === 0 ? claimWords(claim, isShare) : '',
          at === 0 ? differenceOf(claim.difference, isShare) : '',
          instances.join(' + '),
          needed === null ? 'over 64' : String(needed),
          power === null ? '–' : percent(power, 0),
          needed === null ? '–' : String(needed * arms),
          ...costWords(cost),
        ]),
      ),
    }),
    ...claims.map((claim) => spreadWords(claim, seeds.length, isShare)),
    'Time is that of runs one after another, and grows with episodes. Each claim is planned as if the others were not shown.',
  ]
}

function costWords(cost: RunCost | undefined): readonly string[] {
  if (cost === undefined) return ['–', '–', '–']
  const { seconds, cpuSeconds, actionTokens } = cost
  return [duration(seconds), cpuSeconds === undefined ? '–' : duration(cpuSeconds), count(actionTokens)]
}

function spreadWords(claim: PlannedHypothesis, stated: number, isShare: boolean): string {
  const { name, spread, on, pilotSeeds, statedPower, cautiousSeeds } = claim
  const deviation = (value: number) => differenceOf(value, isShare).slice(1)
  const ofInstances = spread.suites.map(
    ({ instances, rest }, at) => `${on[at]} ${deviation(instances)} and ${deviation(rest)}`,
  )
  const most = cautiousSeeds === null ? 'over 64' : String(cautiousSeeds)
  return (
    `${name}: the file's ${stated} seeds find it in ${percent(statedPower, 0)} of experiments. Deviations of ${pilotSeeds} seeds: ${deviation(spread.seeds)} between ` +
    `seeds; between instances and the rest: ${ofInstances.join(', ')}. So few seeds may have too small a deviation: ${most} seeds are safe.`
  )
}
