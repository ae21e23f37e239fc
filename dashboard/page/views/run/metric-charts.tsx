/** The charts of a section that the table of metrics names. */
import type { FunctionComponent } from 'preact'
import { type ChartName, chartRows, metricsOfChart, type Unit } from '../../../../learning/run/metrics.ts'
import { percent } from '../../../../learning/statistics/percent.ts'
import { type Column, figureName } from '../../../contract/curves.ts'
import { Chart } from '../../charts/chart.tsx'
import { seriesColour } from '../../charts/colours.ts'
import { type Series, smoothed } from '../../charts/series.ts'
import type { CurvesProps } from './learning.tsx'

const writers: { readonly [Name in Unit]?: (value: number) => string } = {
  share: (value) => percent(value, 1),
  seconds: (value) => `${Number(value.toPrecision(3))} s`,
}

interface MetricChartsProps extends CurvesProps {
  readonly section: 'health' | 'speed'
  /** Values that the metrics of a chart are not to exceed. */
  readonly bounds?: { readonly [Name in ChartName]?: Column }
}

/** A chart without a value is left out. */
export const MetricCharts: FunctionComponent<MetricChartsProps> = (props) => {
  const { curves, axis, marks, reach, section, bounds = {} } = props
  const charts = chartRows.flatMap(([name, chart]) => {
    if (chart.section !== section) return []
    const bound = bounds[name]
    const rows = metricsOfChart(name)
    const series = rows.flatMap(({ metric, label, place }): readonly Series[] => {
      const values = curves.figures[figureName(metric)]
      if (!values.some((value) => value !== null)) return []
      const colour = seriesColour(chart.colours?.[place] ?? place)
      return [{ label, colour, values: chart.kind === 'stack' ? values : smoothed(values, reach) }]
    })
    const write = rows[0] && writers[rows[0].unit]
    return series.length === 0 ? [] : [{ name, chart, series, write, bound }]
  })
  return (
    <>
      {charts.map(({ name, chart: { title, from, kind }, series, write, bound }) => (
        <Chart
          key={name}
          {...{ axis, marks, title, group: curves.run }}
          series={bound === undefined ? series : [...series, boundSeries(bound)]}
          {...(kind === undefined ? {} : { kind })}
          {...(write === undefined ? {} : { write })}
          {...(from === undefined ? {} : { range: [from, bound === undefined ? null : largest(bound)] })}
        />
      ))}
    </>
  )
}

function boundSeries(values: Column): Series {
  return { label: 'bound', values, colour: 'var(--line-strong)', isDashed: true }
}

function largest(values: Column): number {
  return values.reduce<number>((most, value) => Math.max(most, value ?? 0), 1)
}
