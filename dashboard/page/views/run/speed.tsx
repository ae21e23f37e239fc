/** How fast a run is, and what its time goes into. */
import type { FunctionComponent } from 'preact'
import { Chart } from '../../charts/chart.tsx'
import { seriesColour } from '../../charts/colours.ts'
import { smoothed } from '../../charts/series.ts'
import { Section } from '../../parts/section.tsx'
import { shortCount } from './axis.ts'
import type { CurvesProps } from './section.ts'

const seconds = (value: number) => `${Number(value.toPrecision(3))} s`

export const SpeedSection: FunctionComponent<CurvesProps> = ({ curves, axis, marks, reach }) => {
  const { figures } = curves
  const drawn = { axis, marks, group: curves.run }
  return (
    <Section id="speed" title="Speed">
      <div class="charts">
        <Chart
          {...drawn}
          title="Seconds per update"
          kind="stack"
          write={seconds}
          series={[
            { label: 'waited', values: figures.seconds_wait, colour: 'var(--series-8)' },
            { label: 'trained', values: figures.seconds_train, colour: 'var(--series-0)' },
            { label: 'published', values: figures.seconds_publish, colour: 'var(--series-3)' },
          ]}
        />
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
