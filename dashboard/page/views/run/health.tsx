/** Whether a run is healthy: divergence, entropy, clipping, gradients, staleness, actions that were of no use. */
import type { FunctionComponent } from 'preact'
import { useState } from 'preact/hooks'
import { percent } from '../../../../learning/statistics/percent.ts'
import type { RatioColumn, RunCurves } from '../../../contract/curves.ts'
import { Section } from '../../parts/section.tsx'
import type { CurvesProps } from './learning.tsx'
import { MetricCharts } from './metric-charts.tsx'

export const HealthSection: FunctionComponent<CurvesProps> = (props) => (
  <Section id="health" title="Health">
    <div class="charts">
      <MetricCharts {...props} section="health" bounds={{ staleness: props.curves.stalenessBound }} />
      <RatioHistogram curves={props.curves} />
    </div>
  </Section>
)

/** The edges of a bin in a few characters. @example binText(0, [0.5, 2]) // '< 0.5' */
function binText(bin: number, edges: readonly number[]): string {
  const [from, to] = [edges[bin - 1], edges[bin]]
  if (from === undefined) return `< ${to}`
  return to === undefined ? `≥ ${from}` : `${from}–${to}`
}

const RatioHistogram: FunctionComponent<{ curves: RunCurves }> = ({ curves }) => {
  const { step, fresh, stale, ratioEdges } = curves
  const newest = step.length - 1
  const [chosen, setChosen] = useState<number | undefined>(undefined)
  const at = Math.min(chosen ?? newest, newest)
  const kinds = [
    { label: 'newest version', bins: fresh.ratios[at], colour: 'var(--series-0)', column: fresh },
    { label: 'older versions', bins: stale.ratios[at], colour: 'var(--series-1)', column: stale },
  ].flatMap(({ bins, ...kind }) => (bins == null ? [] : [{ ...kind, bins }]))
  if (!hasRatios(fresh) && !hasRatios(stale)) return null
  const largest = Math.max(...kinds.flatMap(({ bins }) => bins), 1e-9)
  const words = kinds.map(
    ({ label, bins }) =>
      `${label}: ${bins.map((value, bin) => `${percent(value)} at ${binText(bin, ratioEdges)}`).join(', ')}`,
  )
  return (
    <figure class="chart">
      <figcaption>
        <h3>Importance ratios</h3>
        <ul class="legend">
          {kinds.map(({ label, colour, column }) => (
            <li key={label}>
              <span class="swatch" style={{ '--swatch': colour }} />
              {label} <b>ESS {percent(column.effective_share[at] ?? Number.NaN, 0)}</b>
            </li>
          ))}
        </ul>
      </figcaption>
      <div role="img" aria-label={`Shares of the tokens by ratio. ${words.join('. ')}`}>
        <ul class="bars" aria-hidden="true">
          {Array.from({ length: ratioEdges.length + 1 }, (_, bin) => (
            <li key={binText(bin, ratioEdges)}>
              {kinds.map(({ label, bins, colour }) => (
                <i
                  key={label}
                  title={`${label}: ${percent(bins[bin] ?? 0)}`}
                  style={{ '--swatch': colour, height: `${(100 * (bins[bin] ?? 0)) / largest}%` }}
                />
              ))}
            </li>
          ))}
        </ul>
        <div class="bar-labels" aria-hidden="true">
          {Array.from({ length: ratioEdges.length + 1 }, (_, bin) => (
            <span key={binText(bin, ratioEdges)}>{binText(bin, ratioEdges)}</span>
          ))}
        </div>
      </div>
      <label class="slider small">
        <span>Update {step[at]}</span>
        <input
          type="range"
          min={0}
          max={newest}
          value={at}
          onInput={({ currentTarget }) => setChosen(Number(currentTarget.value))}
        />
      </label>
    </figure>
  )
}

function hasRatios({ ratios }: RatioColumn): boolean {
  return ratios.some((bins) => bins !== null)
}
