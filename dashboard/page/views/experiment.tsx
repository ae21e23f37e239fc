/** An experiment: what its claims come to, what each arm reached on each suite, its curves and its runs. */
import type { FunctionComponent } from 'preact'
import { verdicts, verdictWords } from '../../../learning/claims/verdict.ts'
import { episodeCountWords } from '../../../learning/evaluation/evaluation-completeness.ts'
import { statedMeasure } from '../../../learning/evaluation/measure.ts'
import { budgetText } from '../../../learning/run/budget.ts'
import {
  count,
  differenceBetween,
  differenceOf,
  duration,
  measured,
  plain,
  probability,
} from '../../../learning/statistics/figures.ts'
import type { Interval } from '../../../learning/statistics/interval.ts'
import { percent } from '../../../learning/statistics/percent.ts'
import { addressOf } from '../../contract/addresses.ts'
import type { ArmCurve, ExperimentAnswer, ExperimentClaim, MeanOverSeeds } from '../../contract/experiment.ts'
import { experimentRoute } from '../../contract/routes.ts'
import { useAnswer } from '../answer.ts'
import { Chart } from '../charts/chart.tsx'
import { seriesColour } from '../charts/colours.ts'
import { Span } from '../charts/span.tsx'
import { findingNewsOf } from '../live.ts'
import { WorkflowLink } from '../parts/facts.tsx'
import { whenAnswered } from '../parts/notice.tsx'
import { Section } from '../parts/section.tsx'
import { Table } from '../parts/table.tsx'
import { mergedAxis } from './comparison/suite-curves.ts'
import { wholeSteps } from './run/axis.ts'

export const ExperimentView: FunctionComponent<{ experiment: string }> = ({ experiment }) => {
  const answered = useAnswer(experimentRoute(experiment), findingNewsOf())
  return whenAnswered(answered, (answer) => (
    <>
      <div class="head">
        <div class="head-title">
          <h1>{answer.experiment}</h1>
          <span class="quiet">
            {count(answer.done)} of {count(answer.runs)} runs are done
          </span>
        </div>
        <div class="head-links">
          <WorkflowLink to={answer.temporal} />
        </div>
      </div>
      {answer.question === undefined ? null : <p class="notice">{answer.question}</p>}
      {answer.claims.length === 0 ? null : <Claims answer={answer} />}
      {answer.suites.map((suite) => (
        <Suite key={suite.suite} answer={answer} suite={suite} />
      ))}
      <Costs answer={answer} />
      <Runs answer={answer} />
    </>
  )) as ReturnType<FunctionComponent>
}

const Claims: FunctionComponent<{ answer: ExperimentAnswer }> = ({
  answer: { claims, test, level, seeds, measure },
}) => {
  const { isShare } = shownMeasure({ measure })
  return (
    <Section
      id="claims"
      title="Claims"
      note={
        <>
          Stated before the runs. {test === 't' ? 't test' : 'Sign-flip test'} over {count(seeds.length)}{' '}
          seeds, two-sided, at {level} for all of them together.
        </>
      }
    >
      <Table
        label="Claims"
        columns={[
          'Claim',
          'Better',
          'Than',
          { name: isShare ? 'Difference, points' : 'Difference', isFigures: true },
          { name: 'Difference with its t interval', isUnseen: true },
          { name: 't interval', isFigures: true },
          { name: 'p (t)', isFigures: true },
          { name: 'p (signs)', isFigures: true },
          { name: 'p (Holm)', isFigures: true },
          'Verdict',
        ]}
      >
        {claims.map((claim) => (
          <tr key={claim.name}>
            <th scope="row">
              {claim.name}
              {claim.at === undefined ? '' : ` at ${budgetText(claim.at)}`}
            </th>
            <td>{claim.better}</td>
            <td>{claim.than}</td>
            <ClaimFigures claim={claim} isShare={isShare} />
          </tr>
        ))}
      </Table>
    </Section>
  )
}

const ClaimFigures: FunctionComponent<{ claim: ExperimentClaim; isShare: boolean }> = ({
  claim,
  isShare,
}) => {
  const { difference, t, bootstrap, signFlip, look, missing, adjusted, verdict } = claim
  const isOpen = missing.length > 0
  const reach = isShare ? 1 : Math.max(Math.abs(t?.low ?? 1), Math.abs(t?.high ?? 1))
  const inUnit = (interval: Interval) => `${differenceBetween(interval, isShare)}${isShare ? ' points' : ''}`
  return (
    <>
      <td class="figures" title={bootstrap && `by the bootstrap ${inUnit(bootstrap)}`}>
        {difference === undefined ? '–' : differenceOf(difference, isShare)}
      </td>
      <td>
        {difference === undefined || t === undefined ? null : (
          <Span
            value={difference}
            low={t.low}
            high={t.high}
            from={-reach}
            to={reach}
            colour={seriesColour(0)}
            label={inUnit(t)}
          />
        )}
      </td>
      <td class="figures">{t === undefined ? '–' : differenceBetween(t, isShare)}</td>
      <td class="figures">{probability(t?.p)}</td>
      <td class="figures">{probability(signFlip?.p)}</td>
      <td class="figures">{isOpen ? '–' : probability(adjusted)}</td>
      <td>
        {isOpen ? (
          <span class="quiet">open: seeds {missing.join(', ')} are missing</span>
        ) : (
          <span class={`badge ${verdicts[verdict]}`}>
            {verdictWords(claim, isShare)}
            {look === undefined ? '' : ` at ${look} seeds`}
          </span>
        )}
      </td>
    </>
  )
}

interface SuiteProps {
  readonly answer: ExperimentAnswer
  readonly suite: ExperimentAnswer['suites'][number]
}

const Suite: FunctionComponent<SuiteProps> = ({ answer, suite: { suite, arms, curves } }) => {
  const { isShare, title } = shownMeasure(answer)
  return (
    <Section id={`suite-${suite}`} title={suite} note="Means over seeds, with 95 % intervals.">
      <div class="split even">
        <SuiteCurves answer={answer} curves={curves} />
        <Table
          label={`Arms on ${suite}`}
          columns={[
            'Arm',
            { name: title, isFigures: true },
            ...answer.seeds.map((seed) => ({ name: `Seed ${seed}`, isFigures: true })),
          ]}
        >
          {arms.map(({ arm, value, bySeed }, index) => (
            <tr key={arm}>
              <th scope="row">
                <span class="swatch" style={{ '--swatch': seriesColour(index) }} /> {arm}
              </th>
              <td class="figures">
                {value === null ? '–' : measured(value.mean, isShare)}{' '}
                <small class="quiet">{value === null ? '' : intervalOf(value, isShare)}</small>
              </td>
              {answer.seeds.map((seed, at) => (
                <td class="figures quiet" key={seed}>
                  {bySeed[at] == null ? '–' : measured(bySeed[at], isShare)}
                </td>
              ))}
            </tr>
          ))}
        </Table>
      </div>
    </Section>
  )
}

/** The measure of the experiment, for headings and figures. */
function shownMeasure({ measure, metric }: Pick<ExperimentAnswer, 'measure' | 'metric'>) {
  const { words, isShare, unit } = statedMeasure(measure, metric)
  const name = `${words.charAt(0).toUpperCase()}${words.slice(1)}`
  return { isShare, title: unit === undefined ? name : `${name}, ${unit}` }
}

function intervalOf({ low, high }: MeanOverSeeds, isShare: boolean): string {
  return low === undefined || high === undefined
    ? ''
    : `(${measured(low, isShare)} to ${measured(high, isShare)})`
}

const SuiteCurves: FunctionComponent<{ answer: ExperimentAnswer; curves: readonly ArmCurve[] }> = ({
  answer,
  curves,
}) => {
  const { arms } = answer
  const { isShare, title } = shownMeasure(answer)
  if (curves.length === 0) return <p class="quiet">Nothing was measured yet.</p>
  const merged = mergedAxis(curves.map((curve) => curve.points.map(({ version }) => version)))
  const series = curves.map(({ arm, points: found }, at) => {
    const own = arms.indexOf(arm)
    const column = (of: (point: MeanOverSeeds) => number | undefined) =>
      merged.spread(
        at,
        found.map((point) => of(point) ?? null),
      )
    return {
      label: arm,
      // A line that is no arm is a reference for the arms.
      colour: seriesColour(own === -1 ? arms.length : own),
      isDashed: own === -1,
      isSparse: true,
      isGapless: true,
      values: column(({ mean }) => mean),
      low: column(({ low }) => low),
      high: column(({ high }) => high),
    }
  })
  return (
    <Chart
      title={title}
      axis={{ values: merged.values, label: 'version', write: (value) => `v${value}`, steps: wholeSteps }}
      series={series}
      {...(isShare ? { range: [0, 1] as const } : {})}
      write={(value) => (isShare ? percent(value, 0) : plain(value))}
      height={230}
    />
  )
}

const Costs: FunctionComponent<{ answer: ExperimentAnswer }> = ({ answer: { arms, costs } }) =>
  costs.every((cost) => cost === null) ? null : (
    <Section id="costs" title="Cost of a run" note="Means over the runs of each arm that are done.">
      <Table
        label="Cost of a run"
        columns={[
          'Arm',
          { name: 'Time', isFigures: true },
          { name: 'CPU', isFigures: true },
          { name: 'Sampled tokens', isFigures: true },
        ]}
      >
        {arms.map((arm, index) => {
          const { seconds, cpuSeconds, actionTokens } = costs[index] ?? {}
          return (
            <tr key={arm}>
              <th scope="row">{arm}</th>
              <td class="figures">{seconds === undefined ? '–' : duration(seconds)}</td>
              <td class="figures">{cpuSeconds === undefined ? '–' : duration(cpuSeconds)}</td>
              <td class="figures">{actionTokens === undefined ? '–' : count(actionTokens)}</td>
            </tr>
          )
        })}
      </Table>
    </Section>
  )

const Runs: FunctionComponent<{ answer: ExperimentAnswer }> = ({ answer: { arms, seeds, plays } }) => (
  <Section id="runs" title="Runs">
    <Table label="Runs" columns={['Arm', ...seeds.map((seed) => `Seed ${seed}`)]}>
      {arms.map((arm) => (
        <tr key={arm}>
          <th scope="row">{arm}</th>
          {seeds.map((seed) => {
            const play = plays.find((each) => each.arm === arm && each.seed === seed)
            return (
              <td key={seed}>
                {play === undefined || play.status === 'waiting' ? (
                  <span class="quiet">waiting</span>
                ) : (
                  <a href={addressOf({ view: 'run', run: play.run })}>{play.status}</a>
                )}
                {play?.incomplete.map((each) => (
                  <small class="quiet" key={`${each.suite} ${each.version}`}>
                    <br />
                    {each.suite} v{each.version} not counted: {episodeCountWords(each)}
                  </small>
                ))}
              </td>
            )
          })}
        </tr>
      ))}
    </Table>
  </Section>
)
