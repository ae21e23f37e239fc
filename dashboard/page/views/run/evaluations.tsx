/**
 * The evaluations of a run: per suite its curve beside warm start and expert, each measurement with its interval, and the
 * gates that judge them.
 */
import type { FunctionComponent } from 'preact'
import {
  episodeCountWords,
  isComplete,
  type LostEpisodes,
} from '../../../../learning/evaluation/evaluation-completeness.ts'
import {
  type JudgedFigure,
  judgedWords,
  measureWords,
  valueWords,
} from '../../../../learning/evaluation/judgement.ts'
import { count } from '../../../../learning/statistics/figures.ts'
import { percent } from '../../../../learning/statistics/percent.ts'
import { addressOf } from '../../../contract/addresses.ts'
import type { RunCurves } from '../../../contract/curves.ts'
import { type DrawnMeasure, drawnMeasures } from '../../../contract/drawn-measures.ts'
import type { EvaluationRow, EvaluationsAnswer, ExpertRow, GateRow } from '../../../contract/evaluation.ts'
import { Chart } from '../../charts/chart.tsx'
import { seriesColour } from '../../charts/colours.ts'
import type { Mark } from '../../charts/series.ts'
import { Span } from '../../charts/span.tsx'
import { outcomeText } from '../../parts/badge.tsx'
import { When } from '../../parts/facts.tsx'
import { Section } from '../../parts/section.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import type { AxisName } from './axis.ts'
import { type FoundEvaluation, isFound, suiteLines } from './suite-lines.ts'

interface SectionProps {
  readonly evaluations: EvaluationsAnswer | undefined
  readonly curves: RunCurves
  readonly axisName: AxisName
  readonly marks: readonly Mark[]
}

export const EvaluationSection: FunctionComponent<SectionProps> = ({
  evaluations: answer,
  curves,
  axisName,
  marks,
}) => {
  if (answer === undefined || answer.evaluations.length === 0) return null
  const { evaluations, experts, gates } = answer
  const suites = [...new Set(evaluations.map(({ suite }) => suite))]
  return (
    <Section
      id="evaluations"
      title="Evaluations"
      note="Each on instances of its own, with its 95 % interval."
    >
      <div class="charts wide">
        {suites.flatMap((suite, index) => {
          const own = evaluations.filter(isFound).filter((each) => each.suite === suite)
          return drawnMeasures(own.map(({ found }) => found)).map((measure) => (
            <SuiteChart
              key={`${suite} ${measure.of}`}
              suite={suite}
              measure={measure}
              colour={seriesColour(index)}
              evaluations={own}
              expert={experts.find((each) => each.suite === suite)}
              curves={curves}
              axisName={axisName}
              marks={marks}
            />
          ))
        })}
        <EvaluationTable evaluations={evaluations} suites={suites} />
      </div>
      {gates.map((gate) => (
        <GateNotice key={gate.suite} gate={gate} judged={judgedIn(evaluations, gate.suite)} />
      ))}
    </Section>
  )
}

interface SuiteChartProps extends Omit<SectionProps, 'evaluations'> {
  readonly suite: string
  readonly measure: DrawnMeasure
  readonly colour: string
  readonly evaluations: readonly FoundEvaluation[]
  readonly expert: ExpertRow | undefined
}

const SuiteChart: FunctionComponent<SuiteChartProps> = ({ suite, evaluations, expert, marks, ...drawn }) => {
  const { titleOn, isShare, write } = drawn.measure
  return (
    <Chart
      title={titleOn(suite)}
      {...suiteLines(evaluations, expert, drawn)}
      marks={marks}
      {...(isShare ? { range: [0, 1] } : {})}
      write={write}
      height={230}
    />
  )
}

/** The measure by which a suite is judged; undefined where it is success. */
function judgedIn(evaluations: readonly EvaluationRow[], suite: string): JudgedFigure | undefined {
  return evaluations.findLast((each) => each.suite === suite && each.found !== undefined)?.found?.measured
}

interface TableProps {
  readonly evaluations: readonly EvaluationRow[]
  readonly suites: readonly string[]
}

const evaluationColumns: readonly Column[] = [
  { name: 'Suite' },
  { name: 'Version', isFigures: true },
  { name: 'Success', isFigures: true },
  { name: 'With its interval', isUnseen: true, class: 'interval' },
  { name: 'Episodes', isFigures: true },
  { name: 'When', isFigures: true },
]

const EvaluationTable: FunctionComponent<TableProps> = ({ evaluations, suites }) => (
  <Table class="evaluations" label="Evaluations" columns={evaluationColumns}>
    {newestFirst(evaluations).map((evaluation) => (
      <tr key={evaluation.id}>
        <th scope="row">
          <a href={addressOf({ view: 'group', parent: evaluation.id })}>{evaluation.suite}</a>
        </th>
        <td class="figures">v{evaluation.version}</td>
        <Finding evaluation={evaluation} colour={seriesColour(suites.indexOf(evaluation.suite))} />
        <td class="figures">
          <When at={evaluation.ended ?? evaluation.created} />
        </td>
      </tr>
    ))}
  </Table>
)

/** Versions in falling order; the suites of each in their usual order. */
function newestFirst(evaluations: readonly EvaluationRow[]): readonly EvaluationRow[] {
  return evaluations.toSorted((one, other) => other.version - one.version)
}

const Finding: FunctionComponent<{ evaluation: EvaluationRow; colour: string }> = ({
  evaluation,
  colour,
}) => {
  const { found, failure } = evaluation
  if (found === undefined)
    return (
      <td colSpan={3} class="quiet">
        {failure === undefined ? 'in progress' : `failed: ${failure}`}
      </td>
    )
  const { measured, success } = found
  const { value, low, high } = success
  const interval = `${percent(low)} to ${percent(high)}`
  return (
    <>
      <td class={`figures ${isComplete(found) ? '' : 'quiet'}`} title={interval}>
        {percent(value)}
        {measured === undefined ? null : <small class="quiet"> {judgedWords(measured)}</small>}
      </td>
      <td class="interval">
        <Span value={value} low={low} high={high} from={0} to={1} colour={colour} label={interval} />
      </td>
      <td class="figures" title={lossText(found.lost)}>
        {found.n < found.planned ? episodeCountWords(found) : count(found.n)}
      </td>
    </>
  )
}

/** Lost episodes by outcome; undefined when none was lost. */
function lossText(lost: LostEpisodes): string | undefined {
  const kinds = Object.entries(lost).map(
    ([outcome, episodes]) => `${outcomeText(outcome)}: ${count(episodes)}`,
  )
  return kinds.length === 0 ? undefined : kinds.join(', ')
}

const GateNotice: FunctionComponent<{ gate: GateRow; judged: JudgedFigure | undefined }> = ({
  gate,
  judged,
}) => {
  const { suite, drop, confidence, against, action, closed } = gate
  const rule = `${action === 'pause' ? 'pauses' : 'rolls back'} the run when ${judged === undefined ? suite : `${measureWords(judged)} on ${suite}`} gets worse than the ${against} one by more than ${judged === undefined ? percent(drop) : valueWords(drop, judged)}, at ${percent(confidence, 0)} confidence`
  return (
    <div class={`notice ${closed.length === 0 ? '' : 'mixed'} gate`}>
      <p>
        <b>Gate on {suite}:</b> {rule}.{closed.length === 0 ? ' It has not closed.' : ''}
      </p>
      {closed.map(({ time, version, what, reason }) => (
        <p key={`${time} ${what}`}>
          <When at={time} /> v{version}: {what}. {reason}
        </p>
      ))}
    </div>
  )
}
