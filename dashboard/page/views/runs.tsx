/** The runs of the home: what each is at, how it learns, and which to compare. */
import type { FunctionComponent } from 'preact'
import { useState } from 'preact/hooks'
import { episodeCountWords, isComplete } from '../../../learning/evaluation/evaluation-completeness.ts'
import { judgedWords } from '../../../learning/evaluation/judgement.ts'
import { bytes, count } from '../../../learning/statistics/figures.ts'
import { percent } from '../../../learning/statistics/percent.ts'
import { addressOf } from '../../contract/addresses.ts'
import { mostPolicies } from '../../contract/comparison.ts'
import { experimentsRoute, runsRoute } from '../../contract/routes.ts'
import type { RunRow, SuiteFinding, SuiteRow } from '../../contract/run.ts'
import { useAnswer } from '../answer.ts'
import { Spark } from '../charts/span.tsx'
import { findingNewsOf, news } from '../live.ts'
import { choose, goTo, place } from '../navigation.ts'
import { RunBadge } from '../parts/badge.tsx'
import { Command, When } from '../parts/facts.tsx'
import { Empty, whenAnswered } from '../parts/notice.tsx'
import { Section } from '../parts/section.tsx'
import { Table } from '../parts/table.tsx'

export const RunsView: FunctionComponent = () => {
  const answered = useAnswer(runsRoute(), news.value)
  return (
    <>
      <div class="head">
        <h1>Runs</h1>
        <div class="head-links">
          <a class="button" href={addressOf({ view: 'episodes', filter: '' })}>
            All episodes
          </a>
        </div>
      </div>
      {whenAnswered(answered, ({ runs }) =>
        runs.length === 0 ? (
          <Empty title="No runs in this home yet">
            <span>
              <Command words="train" /> starts one; it appears here with its first update.
            </span>
          </Empty>
        ) : (
          <RunList runs={runs} />
        ),
      )}
      <Experiments />
    </>
  )
}

/** Nothing where there are none, and in a report, which is of one run. */
const Experiments: FunctionComponent = () => {
  const { answer } = useAnswer(experimentsRoute(), findingNewsOf())
  if (answer === undefined || answer.experiments.length === 0) return null
  return (
    <Section id="experiments" title="Experiments" class="section after">
      <Table
        label="Experiments"
        columns={[
          'Experiment',
          'Question',
          'Arms',
          { name: 'Runs done', isFigures: true },
          { name: 'Began', isFigures: true },
        ]}
      >
        {answer.experiments.map(({ experiment, question, arms, runs, done, created }) => (
          <tr key={experiment}>
            <th scope="row">
              <a href={addressOf({ view: 'experiment', experiment })}>{experiment}</a>
            </th>
            <td>
              <span class="cut">{question}</span>
            </td>
            <td>
              <span class="cut">{arms.join(', ')}</span>
            </td>
            <td class="figures">
              {count(done)} of {count(runs)}
            </td>
            <td class="figures">
              <When at={created} />
            </td>
          </tr>
        ))}
      </Table>
    </Section>
  )
}

const RunList: FunctionComponent<{ runs: readonly RunRow[] }> = ({ runs }) => {
  const [chosen, setChosen] = useState<readonly string[]>([])
  const { name = '', task = '', state = '' } = place.value.choices
  const shown = runs.filter((run) => isAskedFor(run, { name, task, state }))
  const tasks = [...new Set(runs.flatMap((run) => run.tasks))].sort()
  const states = [...new Set(runs.map(({ status }) => status))].sort()
  const toggle = (run: string) =>
    setChosen(chosen.includes(run) ? chosen.filter((each) => each !== run) : [...chosen, run])
  return (
    <>
      <div class="filters">
        <input
          class="field grows"
          type="search"
          placeholder="Filter by name"
          aria-label="Filter runs by name"
          value={name}
          onInput={({ currentTarget }) => choose({ name: currentTarget.value })}
        />
        <Select
          label="Task"
          all="All tasks"
          names={tasks}
          chosen={task}
          onChoose={(value) => choose({ task: value })}
        />
        <Select
          label="State"
          all="All states"
          names={states}
          chosen={state}
          onChoose={(value) => choose({ state: value })}
        />
        <button
          type="button"
          class="button primary"
          disabled={chosen.length < 2 || chosen.length > mostPolicies}
          onClick={() => goTo({ view: 'comparison', policies: chosen.map((run) => ({ run })) })}
        >
          {chosen.length < 2 ? 'Compare: choose two runs' : `Compare ${chosen.length} runs`}
        </button>
      </div>
      {shown.length === 0 ? (
        <Empty title="No run is like this">
          <span>{count(runs.length)} runs have another name, task or state.</span>
        </Empty>
      ) : (
        <RunTable runs={shown} chosen={chosen} onToggle={toggle} />
      )}
    </>
  )
}

interface Asked {
  readonly name: string
  readonly task: string
  readonly state: string
}

function isAskedFor(run: RunRow, { name, task, state }: Asked): boolean {
  return (
    run.run.toLowerCase().includes(name.toLowerCase()) &&
    (task === '' || run.tasks.includes(task)) &&
    (state === '' || run.status === state)
  )
}

interface SelectProps {
  readonly label: string
  readonly all: string
  readonly names: readonly string[]
  readonly chosen: string
  readonly onChoose: (name: string) => void
}

const Select: FunctionComponent<SelectProps> = ({ label, all, names, chosen, onChoose }) => (
  <select
    class="field"
    aria-label={label}
    value={chosen}
    onChange={({ currentTarget }) => onChoose(currentTarget.value)}
  >
    <option value="">{all}</option>
    {names.map((name) => (
      <option key={name} value={name}>
        {name}
      </option>
    ))}
  </select>
)

interface TableProps {
  readonly runs: readonly RunRow[]
  readonly chosen: readonly string[]
  readonly onToggle: (run: string) => void
}

const RunTable: FunctionComponent<TableProps> = ({ runs, chosen, onToggle }) => (
  <Table
    label="Runs"
    columns={[
      { name: 'Compare', isUnseen: true, class: 'tight' },
      'Run',
      { name: 'State', class: 'tight' },
      'Progress',
      'Success',
      { name: 'Latest', isFigures: true },
      'Evaluation',
      { name: 'Version', isFigures: true },
      { name: 'Episodes', isFigures: true },
      { name: 'Disk', isFigures: true },
      { name: 'Changed', isFigures: true },
    ]}
  >
    {runs.map((row) => (
      <RunLine key={row.run} row={row} isChosen={chosen.includes(row.run)} onToggle={onToggle} />
    ))}
  </Table>
)

interface LineProps {
  readonly row: RunRow
  readonly isChosen: boolean
  readonly onToggle: (run: string) => void
}

const RunLine: FunctionComponent<LineProps> = ({ row, isChosen, onToggle }) => (
  <tr>
    <td class="tight">
      <input
        type="checkbox"
        aria-label={`Compare ${row.run}`}
        checked={isChosen}
        onChange={() => onToggle(row.run)}
      />
    </td>
    <th scope="row">
      <a href={addressOf({ view: 'run', run: row.run })}>{row.run}</a>
      <div class="quiet small">{row.tasks.join(', ')}</div>
    </th>
    <td class="tight">
      <RunBadge status={row.status} phase={row.phase} />
    </td>
    <td>
      <UpdateProgress step={row.step} updates={row.updates} />
    </td>
    <td>
      <Spark values={row.curve} />
    </td>
    <td class="figures">
      {Object.values(row.success)
        .map((share) => percent(share))
        .join(', ') || '–'}
    </td>
    <td>
      {row.suites.map((suite) => (
        <div key={suite.suite}>{suiteText(suite)}</div>
      ))}
    </td>
    <td class="figures">{row.version === null ? '–' : `v${row.version}`}</td>
    <td class="figures">{count(row.episodes)}</td>
    <td class="figures">{bytes(row.bytes)}</td>
    <td class="figures">
      <When at={row.changed} />
    </td>
  </tr>
)

/** How many updates of those that are planned are done. */
export const UpdateProgress: FunctionComponent<{ step: number; updates: number }> = ({ step, updates }) => (
  <>
    <span class="small">
      {count(step)} of {count(updates)} updates
    </span>
    <div class="progress" aria-hidden="true">
      <i style={{ width: `${updates === 0 ? 0 : (100 * step) / updates}%` }} />
    </div>
  </>
)

function suiteText({ suite, best, latest }: SuiteRow): string {
  if (!isComplete(latest)) return `${suite} ${episodeCountWords(latest)}`
  const latestText = `${suite} ${foundText(latest)}`
  return best === null || best.version === latest.version
    ? latestText
    : `${latestText} (best ${foundText(best)}, v${best.version})`
}

/** The success, and the measure that the suite is judged by. */
export function foundText({ success, measured }: SuiteFinding): string {
  const words = percent(success.value)
  return measured === undefined ? words : `${words}, ${judgedWords(measured)}`
}
