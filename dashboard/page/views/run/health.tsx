/** Whether a run is healthy: divergence, entropy, clipping, gradients, staleness, actions that were of no use. */
import type { FunctionComponent } from 'preact'
import { percent } from '../../../../learning/statistics/percent.ts'
import type { FigureName } from '../../../contract/curves.ts'
import { Chart } from '../../charts/chart.tsx'
import { seriesColour } from '../../charts/colours.ts'
import type { ChartProps } from '../../charts/series.ts'
import { type Series, smoothed } from '../../charts/series.ts'
import { Section } from '../../parts/section.tsx'
import { RatioHistogram } from './ratios.tsx'
import type { CurvesProps } from './section.ts'

interface ChartPlan extends Pick<ChartProps, 'title' | 'write' | 'range'> {
  readonly figures: readonly (readonly [FigureName, string])[]
}

const share = (value: number) => percent(value, 1)

const plans: readonly ChartPlan[] = [
  { title: 'Entropy, nats per token', figures: [['entropy', 'entropy']], range: [0, null] },
  {
    title: 'KL divergence, nats per token',
    figures: [
      ['kl', 'from the behaviour policy'],
      ['drift', 'of it made within the update'],
      ['reference_kl', 'from the reference'],
    ],
  },
  {
    title: 'Tokens beyond the clip range',
    figures: [['clip_fraction', 'share']],
    write: share,
    range: [0, null],
  },
  { title: 'Gradient norm before clipping', figures: [['grad_norm', 'norm']], range: [0, null] },
  { title: 'Turns by older versions', figures: [['stale_share', 'share']], write: share, range: [0, null] },
  {
    title: 'Actions of no use',
    figures: [
      ['unusable_share', 'unusable'],
      ['cut_off_share', 'cut off'],
    ],
    write: share,
    range: [0, null],
  },
]

export const HealthSection: FunctionComponent<CurvesProps> = ({ curves, axis, marks, reach }) => {
  const drawn = { axis, marks, group: curves.run }
  const { figures, stalenessBound } = curves
  return (
    <Section id="health" title="Health">
      <div class="charts">
        {plans.flatMap(({ figures: names, ...plan }) => {
          const series = names
            .filter(([name]) => figures[name]?.some((value) => value !== null))
            .map(
              ([name, label], index): Series => ({
                label,
                values: smoothed(figures[name], reach),
                colour: seriesColour(index),
              }),
            )
          return series.length === 0 ? [] : [<Chart key={plan.title} {...drawn} {...plan} series={series} />]
        })}
        <Chart
          {...drawn}
          title="Staleness, in updates"
          range={[0, stalenessBound.reduce((most, bound) => Math.max(most, bound), 1)]}
          series={[
            { label: 'mean', values: figures.staleness_mean, colour: seriesColour(0) },
            { label: 'largest', values: figures.staleness_max, colour: seriesColour(1) },
            {
              label: 'bound',
              values: stalenessBound,
              colour: 'var(--line-strong)',
              isDashed: true,
            },
          ]}
        />
        <RatioHistogram curves={curves} />
      </div>
    </Section>
  )
}
