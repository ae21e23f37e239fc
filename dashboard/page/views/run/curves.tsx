/** The curves of a run: what it learns, whether it is healthy, and how fast it is. */
import type { FunctionComponent } from 'preact'
import { count, plain } from '../../../../learning/statistics/figures.ts'
import { percent } from '../../../../learning/statistics/percent.ts'
import { addressOf } from '../../../contract/addresses.ts'
import type { FigureName, RunCurves } from '../../../contract/curves.ts'
import type { EvaluationsAnswer } from '../../../contract/evaluation.ts'
import type { RunAnswer } from '../../../contract/run.ts'
import { Chart } from '../../charts/chart.tsx'
import { seriesColour } from '../../charts/colours.ts'
import { smoothed } from '../../charts/series.ts'
import { choose, place } from '../../navigation.ts'
import { Choice } from '../../parts/choice.tsx'
import { Facts, When } from '../../parts/facts.tsx'
import { Empty } from '../../parts/notice.tsx'
import { Section } from '../../parts/section.tsx'
import { axisNames, axisOf, axisTexts, shortCount } from './axis.ts'
import { EvaluationSection } from './evaluations.tsx'
import { HealthSection } from './health.tsx'
import { type CurvesProps, LearningSection } from './learning.tsx'
import { marksOf } from './marks.ts'
import { MetricCharts } from './metric-charts.tsx'
import { OutcomeSection } from './outcomes.tsx'

interface TabProps {
  readonly answer: RunAnswer
  readonly curves: RunCurves
  readonly evaluations: EvaluationsAnswer | undefined
  readonly update: number | undefined
}

const reaches = { none: 0, some: 2, much: 10 } as const
type Smoothing = keyof typeof reaches

export const CurvesTab: FunctionComponent<TabProps> = ({ answer, curves, evaluations, update }) => {
  const { x, smooth } = place.value.choices
  const axisName = axisNames.find((name) => name === x) ?? 'updates'
  const smoothing: Smoothing = smooth === 'some' || smooth === 'much' ? smooth : 'none'
  const axis = axisOf(axisName, curves)
  const marks = marksOf(answer.audit, curves, axis)
  const measured = {
    evaluations,
    curves,
    axisName,
    // Their axes begin before the first update, with the warm start.
    marks: marksOf(answer.audit, curves, axis, 0),
  }
  const shared = { curves, axis, marks, reach: reaches[smoothing] }
  if (curves.step.length === 0)
    return (
      <>
        <Empty title="No update yet">
          <span>The first point is drawn when the first update is done.</span>
        </Empty>
        <EvaluationSection {...measured} />
      </>
    )
  return (
    <>
      <div class="filters">
        <Choice
          label="Drawn against"
          options={axisNames.map((name) => ({ name, text: axisTexts[name] }))}
          chosen={axisName}
          onChoose={(name) => choose({ x: name === 'updates' ? '' : name })}
        />
        <Choice
          label="Smoothing"
          options={[
            { name: 'none', text: 'As measured' },
            { name: 'some', text: 'Mean of 5' },
            { name: 'much', text: 'Mean of 21' },
          ]}
          chosen={smoothing}
          onChoose={(name) => choose({ smooth: name === 'none' ? '' : name })}
        />
        <span class="quiet small hint">Drag over a curve to zoom, double click to see all of it.</span>
      </div>
      {update === undefined ? null : <UpdateSection curves={curves} step={update} />}
      <EvaluationSection {...measured} />
      <LearningSection {...shared} />
      <HealthSection {...shared} />
      <SpeedSection {...shared} />
      <OutcomeSection answer={answer} />
    </>
  )
}

const shown: readonly (readonly [FigureName, string, (value: number) => string])[] = [
  ['groups', 'Groups', count],
  ['groups_with_preference', 'Groups learnt from', count],
  ['episodes', 'Episodes', count],
  ['action_tokens', 'Sampled tokens', count],
  ['kl', 'KL', plain],
  ['entropy', 'Entropy', plain],
  ['clip_fraction', 'Clipped', (value) => percent(value)],
  ['grad_norm', 'Gradient norm', plain],
  ['staleness_mean', 'Staleness', plain],
]

/** One update: its figures, and the episodes that it learnt from. */
const UpdateSection: FunctionComponent<{ curves: RunCurves; step: number }> = ({ curves, step }) => {
  const at = curves.step.indexOf(step)
  const { run, time, version, figures, tasks } = curves
  const [made, published] = [time[at], version[at]]
  if (made === undefined || published === undefined)
    return <p class="notice section">Update {step} is not among those that are shown.</p>
  return (
    <Section
      id="update"
      title={
        <>
          Update {step} → v{published}
        </>
      }
      note={<When at={made} />}
      beside={
        <>
          <a href={addressOf({ view: 'episodes', filter: `run:${run} update:${step}` })}>Its episodes</a>
          <a href={addressOf({ view: 'run', run })}>Close</a>
        </>
      }
      class="sheet section"
    >
      <Facts
        facts={[
          ...Object.entries(tasks).map(([task, { success }]) => ({
            name: `Success, ${task}`,
            value: percent(success[at] ?? Number.NaN),
          })),
          ...shown.map(([figure, name, write]) => {
            const value = figures[figure][at]
            return { name, value: value === null || value === undefined ? undefined : write(value) }
          }),
        ]}
      />
    </Section>
  )
}

/** How fast a run is, and what its time goes into. */
const SpeedSection: FunctionComponent<CurvesProps> = (props) => {
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
