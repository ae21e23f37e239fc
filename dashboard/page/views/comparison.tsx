/** Policies beside one another: on the suites they share, in their curves, and where their configurations differ. */
import type { FunctionComponent } from 'preact'
import { useState } from 'preact/hooks'
import { episodeCountWords } from '../../../learning/evaluation/evaluation-completeness.ts'
import { judgedWords } from '../../../learning/evaluation/judgement.ts'
import { count, differenceBetween, differenceOf } from '../../../learning/statistics/figures.ts'
import { percent } from '../../../learning/statistics/percent.ts'
import { addressOf } from '../../contract/addresses.ts'
import type { ComparisonAnswer, PolicyFinding, PolicyName, SuiteBeside } from '../../contract/comparison.ts'
import { comparisonRoute } from '../../contract/routes.ts'
import { useAnswer } from '../answer.ts'
import { seriesColour } from '../charts/colours.ts'
import { Span } from '../charts/span.tsx'
import { Command } from '../parts/facts.tsx'
import { Empty, whenAnswered } from '../parts/notice.tsx'
import { Section } from '../parts/section.tsx'
import { Scrolls, Table } from '../parts/table.tsx'
import { ComparedCurves } from './comparison/curves.tsx'

export const ComparisonView: FunctionComponent<{ policies: readonly PolicyName[] }> = ({ policies }) => {
  const isEnough = policies.length >= 2
  const answered = useAnswer(isEnough ? comparisonRoute(policies) : undefined)
  return (
    <>
      <div class="head">
        <h1>Comparison</h1>
      </div>
      <PolicyList policies={policies} />
      {isEnough ? (
        <>
          {whenAnswered(answered, (comparison) => (
            <ComparisonTables comparison={comparison} />
          ))}
          <ComparedCurves runs={[...new Set(policies.map(({ run }) => run))]} />
        </>
      ) : (
        <Empty title="Choose two policies or more">
          <span>
            A run, or a version of it as <code>run@12</code>.
          </span>
        </Empty>
      )}
    </>
  )
}

export function policyText({ run, version }: PolicyName): string {
  return version === undefined ? run : `${run}@${version}`
}

const PolicyList: FunctionComponent<{ policies: readonly PolicyName[] }> = ({ policies }) => {
  const [text, setText] = useState('')
  return (
    <form
      class="filters"
      onSubmit={(event) => {
        event.preventDefault()
        const [, run = '', version] = /^\s*([^@\s]+)(?:@(\d+))?\s*$/.exec(text) ?? []
        if (run === '') return
        const added = version === undefined ? { run } : { run, version: Number(version) }
        location.hash = addressOf({ view: 'comparison', policies: [...policies, added] })
        setText('')
      }}
    >
      {policies.map((policy, index) => (
        <span class="badge policy" key={policyText(policy)}>
          <span class="swatch" style={{ '--swatch': seriesColour(index) }} />
          <a href={addressOf({ view: 'run', run: policy.run })}>{policyText(policy)}</a>
          <a
            href={addressOf({ view: 'comparison', policies: policies.filter((each) => each !== policy) })}
            aria-label={`Without ${policyText(policy)}`}
          >
            ×
          </a>
        </span>
      ))}
      <input
        class="field"
        placeholder="Add run or run@version"
        aria-label="Add a run, or a version of it"
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
    </form>
  )
}

const ComparisonTables: FunctionComponent<{ comparison: ComparisonAnswer }> = ({ comparison }) => (
  <>
    {comparison.suites.length === 0 ? (
      <div class="sheet section">
        <Empty title="No suite measured any of them">
          <span>
            <Command words="eval RUN" /> measures a run on its suites.
          </span>
        </Empty>
      </div>
    ) : null}
    {comparison.suites.map((suite) => (
      <SuiteTable key={suite.suite} suite={suite} policies={comparison.policies} />
    ))}
    <Differences comparison={comparison} />
  </>
)

interface SuiteProps {
  readonly suite: SuiteBeside
  readonly policies: readonly PolicyName[]
}

const SuiteTable: FunctionComponent<SuiteProps> = ({ suite, policies }) => (
  <Section
    id={`suite-${suite.suite}`}
    title={suite.suite}
    note="Differences to the first, with 95 % intervals: paired over the instances that both have played, where there are any."
  >
    <Table
      label={suite.suite}
      columns={[
        'Policy',
        { name: 'Version', isFigures: true },
        { name: 'Success', isFigures: true },
        { name: 'Success with its interval', isUnseen: true },
        { name: differenceName(suite), isFigures: true },
        { name: 'Difference with its interval', isUnseen: true },
        { name: 'Better on', isFigures: true },
        { name: 'Worse on', isFigures: true },
        { name: 'Instances', isFigures: true },
      ]}
    >
      {policies.map((policy, index) => (
        <FindingLine
          key={policyText(policy)}
          name={policyText(policy)}
          colour={seriesColour(index)}
          finding={suite.findings[index] ?? null}
          isReference={index === 0}
        />
      ))}
    </Table>
  </Section>
)

/** The differences of a suite are of one measure. */
function differenceName({ findings }: SuiteBeside): string {
  const measure = findings.find((each) => each?.measure !== undefined)?.measure
  if (measure === undefined || measure.isShare) return 'Difference, points'
  return `Difference, ${measure.unit === undefined ? measure.words : `${measure.words} in ${measure.unit}`}`
}

interface LineProps {
  readonly name: string
  readonly colour: string
  readonly finding: PolicyFinding | null
  readonly isReference: boolean
}

const FindingLine: FunctionComponent<LineProps> = ({ name, colour, finding, isReference }) => {
  const head = (
    <th scope="row">
      <span class="swatch" style={{ '--swatch': colour }} /> {name}
    </th>
  )
  if (finding === null)
    return (
      <tr>
        {head}
        <td colSpan={8} class="quiet">
          not measured on this suite
        </td>
      </tr>
    )
  const { version, success, measured, n, planned } = finding
  const interval = `${percent(success.low)} to ${percent(success.high)}`
  return (
    <tr>
      {head}
      <td class="figures">v{version}</td>
      <td class="figures" title={`${interval}, ${count(n)} episodes`}>
        {percent(success.value)}
        {measured === undefined ? null : <small class="quiet"> {judgedWords(measured)}</small>}
        {n < planned ? <small class="quiet"> {episodeCountWords(finding)}</small> : null}
      </td>
      <td>
        <Span {...success} from={0} to={1} colour={colour} label={interval} />
      </td>
      <PairedCells finding={finding} colour={colour} isReference={isReference} />
    </tr>
  )
}

const PairedCells: FunctionComponent<Omit<LineProps, 'name'> & { finding: PolicyFinding }> = ({
  finding: { paired, unpaired, instances, measure },
  colour,
  isReference,
}) => {
  const found = paired ?? unpaired
  if (found === undefined)
    return (
      <td colSpan={5} class="quiet">
        {isReference ? 'the reference' : 'no instance in common'}
      </td>
    )
  const { difference, low, high } = found
  const isShare = measure?.isShare ?? true
  const unit = isShare ? 'points' : (measure?.unit ?? '')
  const interval =
    `${differenceBetween(found, isShare)} ${unit}${paired === undefined ? ', not paired' : ''}`.trim()
  const words = differenceOf(difference, isShare)
  // A share has bounds; other differences are shown beside their own interval.
  const reach = isShare ? 1 : Math.max(Math.abs(low), Math.abs(high), Number.MIN_VALUE)
  const isCertain = low > 0 || high < 0
  return (
    <>
      <td class="figures" title={interval}>
        {isCertain ? <b>{words}</b> : words}
      </td>
      <td>
        <Span
          value={difference}
          low={low}
          high={high}
          from={-reach}
          to={reach}
          colour={colour}
          label={interval}
        />
      </td>
      <td class="figures">{paired === undefined ? '–' : count(paired.better)}</td>
      <td class="figures">{paired === undefined ? '–' : count(paired.worse)}</td>
      <td class="figures">{count(instances)}</td>
    </>
  )
}

const Differences: FunctionComponent<{ comparison: ComparisonAnswer }> = ({ comparison }) => {
  const { differences, policies } = comparison
  if (differences.length === 0) return <p class="notice section">Their configurations are the same.</p>
  return (
    <Section id="differences" title="Where their configurations differ">
      <Scrolls label="Differences">
        <table>
          <thead>
            <tr>
              <th>Key</th>
              {policies.map((policy) => (
                <th key={policyText(policy)}>{policyText(policy)}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {differences.map(({ key, values }) => (
              <tr key={key}>
                <th scope="row">
                  <code>{key}</code>
                </th>
                {policies.map((policy, index) => (
                  <td key={policyText(policy)}>
                    <code>{String(values[index] ?? '–')}</code>
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolls>
    </Section>
  )
}
