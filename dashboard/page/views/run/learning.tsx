/** The learning of a run: success and reward per task, and what became of its groups. */
import type { FunctionComponent } from 'preact'
import { valueWords } from '../../../../learning/evaluation/judgement.ts'
import { percent } from '../../../../learning/statistics/percent.ts'
import type { RunCurves, TaskCurves } from '../../../contract/curves.ts'
import { Chart } from '../../charts/chart.tsx'
import { seriesColour } from '../../charts/colours.ts'
import { type Axis, type Mark, type Series, smoothed } from '../../charts/series.ts'
import { Section } from '../../parts/section.tsx'

/** The data that every section draws. */
export interface CurvesProps {
  readonly curves: RunCurves
  readonly axis: Axis
  readonly marks: readonly Mark[]
  /** Values before and after that a value is averaged with. */
  readonly reach: number
}

const share = (value: number) => percent(value, 0)

export const LearningSection: FunctionComponent<CurvesProps> = ({ curves, axis, marks, reach }) => {
  const tasks = Object.entries(curves.tasks)
  const seriesOf = (pick: (task: TaskCurves) => Pick<Series, 'values' | 'low' | 'high'>) =>
    tasks.map(([label, task], index) => {
      const { values, low, high } = pick(task)
      const interval = low && high ? { low: smoothed(low, reach), high: smoothed(high, reach) } : {}
      return { label, colour: seriesColour(index), values: smoothed(values, reach), ...interval }
    })
  const { figures } = curves
  const drawn = { axis, marks, group: curves.run }
  return (
    <Section id="learning" title="Learning" note="Bands are 95 % intervals over groups.">
      <div class="charts">
        <Chart
          {...drawn}
          title="Success"
          write={share}
          range={[0, 1]}
          series={seriesOf(({ success, success_low, success_high }) => ({
            values: success,
            low: success_low,
            high: success_high,
          }))}
        />
        <Chart
          {...drawn}
          title="Reward that is learnt from"
          series={seriesOf(({ shaped_reward, shaped_reward_low, shaped_reward_high }) => ({
            values: shaped_reward,
            low: shaped_reward_low,
            high: shaped_reward_high,
          }))}
        />
        {metricCharts(curves, reach).map((chart) => (
          <Chart key={chart.title} {...drawn} {...chart} />
        ))}
        <Chart
          {...drawn}
          title="Groups"
          kind="stack"
          series={[
            { label: 'won', values: figures.groups_won, colour: 'var(--won)' },
            { label: 'mixed', values: figures.groups_with_preference, colour: 'var(--mixed)' },
            { label: 'lost', values: figures.groups_lost, colour: 'var(--lost)' },
            { label: 'equal otherwise', values: figures.groups_equal, colour: 'var(--line-strong)' },
          ]}
        />
        {figures.skipped_groups.some((skipped) => skipped !== null && skipped > 0) ? (
          <Chart
            {...drawn}
            title="Groups skipped to make room"
            kind="stack"
            series={skippedSeries(figures)}
          />
        ) : null}
        {tasks.length < 2 ? null : (
          <Chart
            {...drawn}
            title="Share of the gradient"
            write={share}
            range={[0, null]}
            series={seriesOf(({ gradient_share }) => ({ values: gradient_share }))}
          />
        )}
      </div>
    </Section>
  )
}

/** A chart of each metric, of all tasks whose environments declare it. */
function metricCharts({ metrics, units }: RunCurves, reach: number) {
  const tables = Object.entries(metrics)
  const names = new Set(
    tables.flatMap(([, table]) => Object.keys(table)).filter((name) => !name.includes('/')),
  )
  return [...names].map((name) => {
    const unit = units[name]
    const series = tables.flatMap(([label, table], index): readonly Series[] => {
      const { [name]: values, [`${name}/low`]: low = [], [`${name}/high`]: high = [] } = table
      if (values === undefined) return []
      const interval = { low: smoothed(low, reach), high: smoothed(high, reach) }
      return [{ label, colour: seriesColour(index), values: smoothed(values, reach), ...interval }]
    })
    const title = `${name.charAt(0).toUpperCase()}${name.slice(1)}${unit === undefined ? '' : `, ${unit}`}`
    return { title, series, write: (value: number) => valueWords(value, { unit }) }
  })
}

/** The groups that were played and not trained on, because their rewards are equal. */
function skippedSeries({
  skipped_groups,
  skipped_won,
  skipped_lost,
}: RunCurves['figures']): readonly Series[] {
  const otherwise = skipped_groups.map((skipped, at) =>
    skipped === null ? null : skipped - (skipped_won[at] ?? 0) - (skipped_lost[at] ?? 0),
  )
  return [
    { label: 'won', values: skipped_won, colour: 'var(--won)' },
    { label: 'lost', values: skipped_lost, colour: 'var(--lost)' },
    { label: 'equal otherwise', values: otherwise, colour: 'var(--line-strong)' },
  ]
}
