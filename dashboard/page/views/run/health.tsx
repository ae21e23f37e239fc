/** Whether a run is healthy: divergence, entropy, clipping, gradients, staleness, actions that were of no use. */
import type { FunctionComponent } from 'preact'
import { Section } from '../../parts/section.tsx'
import { MetricCharts } from './metric-charts.tsx'
import { RatioHistogram } from './ratios.tsx'
import type { CurvesProps } from './section.ts'

export const HealthSection: FunctionComponent<CurvesProps> = (props) => (
  <Section id="health" title="Health">
    <div class="charts">
      <MetricCharts {...props} section="health" bounds={{ staleness: props.curves.stalenessBound }} />
      <RatioHistogram curves={props.curves} />
    </div>
  </Section>
)
