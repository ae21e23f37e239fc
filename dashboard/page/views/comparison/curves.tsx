/** The curves of several runs over one another. */
import type { FunctionComponent } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { percent } from '../../../../learning/statistics/percent.ts'
import type { Column, RunCurves } from '../../../contract/curves.ts'
import { drawnMeasures } from '../../../contract/drawn-measures.ts'
import type { EvaluationsAnswer } from '../../../contract/evaluation.ts'
import { curvesRoute, evaluationsRoute } from '../../../contract/routes.ts'
import { Chart } from '../../charts/chart.tsx'
import { seriesColour } from '../../charts/colours.ts'
import { findingNewsOf, newsOf } from '../../live.ts'
import { choose, place } from '../../navigation.ts'
import { Choice } from '../../parts/choice.tsx'
import { FaultNotice } from '../../parts/notice.tsx'
import { Section } from '../../parts/section.tsx'
import { type AnswerRoute, ask, PageFault } from '../../source.ts'
import { type AxisName, axisNames, axisOf, axisTexts } from '../run/axis.ts'
import { isFound } from '../run/suite-lines.ts'
import { type MeasuredCurves, mergedAxis, suiteCurves, suitesOf } from './suite-curves.ts'

type Picked = (
  curves: RunCurves,
) => { readonly values: Column; readonly low?: Column; readonly high?: Column } | undefined

export const ComparedCurves: FunctionComponent<{ runs: readonly string[] }> = ({ runs }) => {
  const drawn = useAnswersOf(runs, (run) => curvesRoute(run), newsOf(...runs))
  const evaluated = useAnswersOf(runs, evaluationsRoute, findingNewsOf(...runs))
  const curves = runs.flatMap((run) => drawn.answers.get(run) ?? [])
  const fault = drawn.fault ?? evaluated.fault
  const { x } = place.value.choices
  const axisName = axisNames.find((name) => name === x) ?? 'updates'
  const tasks = [...new Set(curves.flatMap(({ tasks: of }) => Object.keys(of)))]
  const charts: readonly { readonly title: string; readonly pick: Picked; readonly isShare?: boolean }[] = [
    ...tasks.map((task) => ({
      title: tasks.length === 1 ? 'Success' : `Success, ${task}`,
      isShare: true,
      pick: ({ tasks: of }: RunCurves) => {
        const found = of[task]
        return found && { values: found.success, low: found.success_low, high: found.success_high }
      },
    })),
    { title: 'Entropy, nats per token', pick: ({ figures }) => ({ values: figures.entropy }) },
    { title: 'KL divergence, nats per token', pick: ({ figures }) => ({ values: figures.kl }) },
    { title: 'Gradient norm before clipping', pick: ({ figures }) => ({ values: figures.grad_norm }) },
    { title: 'Tokens per second', pick: ({ figures }) => ({ values: figures.tokens_per_second }) },
  ]
  return (
    <Section
      id="curves"
      title="Curves"
      beside={
        <Choice
          label="Drawn against"
          options={axisNames.map((name) => ({ name, text: axisTexts[name] }))}
          chosen={axisName}
          onChoose={(name) => choose({ x: name === 'updates' ? '' : name })}
        />
      }
    >
      {fault === undefined ? null : <FaultNotice fault={fault} />}
      <div class="charts">
        <ComparedSuites runs={runs} curves={curves} evaluated={evaluated.answers} axisName={axisName} />
        {charts.map(({ title, pick, isShare }) => (
          <ComparedChart
            key={title}
            title={title}
            runs={runs}
            curves={curves}
            axisName={axisName}
            pick={pick}
            isShare={isShare === true}
          />
        ))}
      </div>
    </Section>
  )
}

interface SuitesProps {
  readonly runs: readonly string[]
  readonly curves: readonly RunCurves[]
  /** By run. */
  readonly evaluated: ReadonlyMap<string, EvaluationsAnswer>
  readonly axisName: AxisName
}

/** A chart for each suite that any of the runs was measured on. */
const ComparedSuites: FunctionComponent<SuitesProps> = ({ runs, curves, evaluated, axisName }) => {
  const measured = curves.map((own): MeasuredCurves => {
    const evaluations = evaluated.get(own.run)?.evaluations ?? []
    return { curves: own, evaluations, colour: seriesColour(runs.indexOf(own.run)) }
  })
  return (
    <>
      {suitesOf(measured).flatMap((suite) => {
        const found = measured.flatMap(({ evaluations }) => evaluations.filter(isFound))
        const own = found.filter((each) => each.suite === suite).map((each) => each.found)
        return drawnMeasures(own).map((measure) => {
          const drawn = suiteCurves(suite, measured, axisName, measure)
          return drawn === undefined ? null : (
            <Chart
              key={`${suite} ${measure.of}`}
              title={measure.titleOn(suite)}
              {...drawn}
              {...(measure.isShare ? { range: [0, 1] } : {})}
              write={measure.write}
              height={220}
            />
          )
        })
      })}
    </>
  )
}

interface ChartProps {
  readonly title: string
  readonly runs: readonly string[]
  readonly curves: readonly RunCurves[]
  readonly axisName: AxisName
  readonly pick: Picked
  readonly isShare: boolean
}

const ComparedChart: FunctionComponent<ChartProps> = ({ title, runs, curves, axisName, pick, isShare }) => {
  const drawn = curves.filter(({ step }) => step.length > 0)
  const axes = drawn.map((each) => axisOf(axisName, each))
  const [first] = axes
  if (first === undefined) return null
  const merged = mergedAxis(axes.map(({ values }) => values))
  const series = drawn.flatMap((each, at) => {
    const found = pick(each)
    if (found === undefined) return []
    const spread = (column: Column) => merged.spread(at, column)
    return [
      {
        label: each.run,
        colour: seriesColour(runs.indexOf(each.run)),
        values: spread(found.values),
        ...(found.low && found.high ? { low: spread(found.low), high: spread(found.high) } : {}),
        isGapless: true,
      },
    ]
  })
  return (
    <Chart
      title={title}
      axis={{ ...first, values: merged.values }}
      series={series}
      group="comparison"
      height={220}
      {...(isShare ? { write: (value: number) => percent(value, 0), range: [0, 1] as const } : {})}
    />
  )
}

/** The answers of the runs, by name, as soon as all are there. @param reason grows when there may be more */
function useAnswersOf<Answer>(
  runs: readonly string[],
  routeOf: (run: string) => AnswerRoute<Answer>,
  reason: number,
): { readonly answers: ReadonlyMap<string, Answer>; readonly fault?: PageFault | undefined } {
  type Found = { readonly answers: ReadonlyMap<string, Answer>; readonly fault?: PageFault }
  const [found, setFound] = useState<Found>({ answers: new Map() })
  useEffect(() => {
    const aborting = new AbortController()
    const asking = runs.map(async (run) => [run, await ask(routeOf(run), aborting.signal)] as const)
    Promise.all(asking).then(
      (answers) => setFound({ answers: new Map(answers) }),
      (error: unknown) => {
        if (aborting.signal.aborted) return
        const fault = error instanceof PageFault ? error : new PageFault('unavailable', String(error))
        setFound((before) => ({ ...before, fault }))
      },
    )
    return () => aborting.abort()
  }, [runs.join('\n'), reason])
  return found
}
