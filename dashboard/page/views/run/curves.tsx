/** The curves of a run: what it learns, whether it is healthy, and how fast it is. */
import type { FunctionComponent } from 'preact'
import type { RunCurves } from '../../../contract/curves.ts'
import type { EvaluationsAnswer } from '../../../contract/evaluation.ts'
import type { RunAnswer } from '../../../contract/run.ts'
import { choose, place } from '../../navigation.ts'
import { Choice } from '../../parts/choice.tsx'
import { Empty } from '../../parts/notice.tsx'
import { axisNames, axisOf, axisTexts } from './axis.ts'
import { EvaluationSection } from './evaluations.tsx'
import { HealthSection } from './health.tsx'
import { LearningSection } from './learning.tsx'
import { marksOf } from './marks.ts'
import { OutcomeSection } from './outcomes.tsx'
import { SpeedSection } from './speed.tsx'
import { UpdateSection } from './update.tsx'

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
