/** How fast a run is, and what its time goes into. */
import type { FunctionComponent } from 'preact'
import { Chart } from '../../charts/chart.tsx'
import { seriesColour } from '../../charts/colours.ts'
import { smoothed } from '../../charts/series.ts'
import { Section } from '../../parts/section.tsx'
import { shortCount } from './axis.ts'
import { MetricCharts } from './metric-charts.tsx'
import type { CurvesProps } from './section.ts'

export const SpeedSection: FunctionComponent<CurvesProps> = (props) => {
  const { curves, axis, marks, reach } = props
  const { figures } = curves
  const drawn = { axis, marks, group: curves.run }
  return (
    <Section id="speed" title="Speed">
      <div class="charts">
        <MetricCharts {...props} section="speed" />
        <Chart
          {...drawn}
          title="Tokens per second"
          write={shortCount}
          range={[0, null]}
          series={[
            { label: 'sampled', values: smoothed(figures.tokens_per_second, reach), colour: seriesColour(0) },
          ]}
        />
        <Chart
          {...drawn}
          title="Turns per second"
          range={[0, null]}
          series={[
            { label: 'played', values: smoothed(figures.turns_per_second, reach), colour: seriesColour(2) },
          ]}
        />
      </div>
    </Section>
  )
}
