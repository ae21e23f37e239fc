/** The samples of a group, an evaluation or a branch beside one another: what each did, and what came of it. */
import type { FunctionComponent } from 'preact'
import { count, plain } from '../../../learning/statistics/figures.ts'
import { percent } from '../../../learning/statistics/percent.ts'
import { addressOf } from '../../contract/addresses.ts'
import type { GroupAnswer, GroupSample } from '../../contract/group.ts'
import { groupRoute } from '../../contract/routes.ts'
import { useAnswer } from '../answer.ts'
import { news } from '../live.ts'
import { OutcomeBadge } from '../parts/badge.tsx'
import { Facts, WorkflowLink } from '../parts/facts.tsx'
import { whenAnswered } from '../parts/notice.tsx'
import { Section } from '../parts/section.tsx'
import { Table } from '../parts/table.tsx'
import { visible } from '../parts/visible.ts'
import { versionsText } from './episodes/table.tsx'
import { lessonSentence, updateFact } from './group/lesson.ts'
import { type Difference, firstDifference } from './group/likeness.ts'
import { SampleAdvantage, SampleMatrix } from './group/matrix.tsx'

/** More samples than these do not fit beside one another. */
const mostColumns = 16

const kindWords = { group: 'Group', evaluation: 'Evaluation', branch: 'Branch' } as const

export const GroupView: FunctionComponent<{ parent: string }> = ({ parent }) => {
  const answered = useAnswer(groupRoute(parent), news.value)
  return whenAnswered(answered, (group) => {
    const counted = group.samples.filter(({ counts }) => counts)
    const isMatrix = counted.length <= mostColumns && counted.some(({ actions }) => actions.length > 0)
    return (
      <>
        <GroupHead group={group} />
        {isMatrix ? (
          <SampleMatrix
            samples={counted}
            learnt={group.learnt}
            partsAt={group.partsAt}
            difference={differenceIn(group)}
          />
        ) : null}
        {isMatrix && counted.length === group.samples.length ? null : (
          <SampleTable title={isMatrix ? 'All attempts' : 'Episodes'} group={group} />
        )}
      </>
    )
  }) as ReturnType<FunctionComponent>
}

const GroupHead: FunctionComponent<{ group: GroupAnswer }> = ({ group }) => {
  const { id, run, kind, task, instance, version, status, update, learnt, temporal, samples, total } = group
  const ended = samples.filter(({ counts, outcome }) => counts && outcome !== null)
  const won = ended.filter(({ success }) => success).length
  return (
    <>
      <div class="head">
        <div class="head-title">
          <h1>
            {kindWords[kind]} {id.slice(run.length + 1)}
          </h1>
          <span class={`badge ${status === 'running' ? 'live' : status === 'complete' ? 'won' : 'mixed'}`}>
            {status}
          </span>
        </div>
        <div class="head-links">
          <a class="button" href={addressOf({ view: 'episodes', filter: `group:${id}` })}>
            In the table
          </a>
          <WorkflowLink to={temporal} />
        </div>
      </div>
      <div class="sheet section">
        <Facts
          facts={[
            { name: 'Task', value: task },
            {
              name: 'Instance',
              value: instance === null ? undefined : <span class="cut">{visible(instance)}</span>,
            },
            { name: 'Version', value: `v${version}` },
            { name: 'Samples', value: count(total) },
            {
              name: 'Won',
              value:
                ended.length === 0 ? '–' : `${won} of ${ended.length} (${percent(won / ended.length, 0)})`,
            },
            {
              name: updateFact(learnt),
              value:
                update === null ? undefined : (
                  <a href={addressOf({ view: 'run', run, update })}>update {update}</a>
                ),
            },
          ]}
        />
        <p class="said">{whatItSays(group)}</p>
      </div>
    </>
  )
}

/** The notable facts of a group, in a sentence or two. */
function whatItSays(group: GroupAnswer): string {
  const { samples, instance, partsAt, learnt } = group
  const counted = samples.filter(({ counts, outcome }) => counts && outcome !== null)
  const won = counted.filter(({ success }) => success)
  const parts = `${partsAt === null ? 'All did the same.' : `They part at turn ${partsAt}.`}${differenceText(counted, differenceIn(group))}`
  const lesson = lessonSentence(learnt)
  if (counted.length < 2 || instance === null) return ''
  const [winner] = won
  if (won.length === 1 && winner !== undefined) return `Sample ${winner.sample} alone won. ${parts}${lesson}`
  const lost = counted.filter(({ success }) => !success)
  const [loser] = lost
  if (lost.length === 1 && loser !== undefined) return `Sample ${loser.sample} alone lost. ${parts}${lesson}`
  return `${parts}${lesson}`
}

/** The first difference between winners and losers; samples of several instances have nothing to differ in. */
function differenceIn({ samples, instance }: GroupAnswer): Difference | null {
  if (instance === null) return null
  return firstDifference(samples.filter(({ counts, outcome }) => counts && outcome !== null))
}

/** @example ' At turn 3 it did “go to shelf 1”; the others did “open fridge 1” or “look”.' */
function differenceText(samples: readonly GroupSample[], difference: Difference | null): string {
  if (difference === null) return ''
  const { turn, winners, losers } = difference
  const count = samples.filter(({ success }) => success).length
  const who = count === 1 ? 'it' : 'those that won'
  const others = samples.length - count === 1 ? 'the other' : 'the others'
  const rest = losers.length === 0 ? `${others} had ended` : `${others} did ${quoted(losers)}`
  return ` At turn ${turn} ${who} did ${quoted(winners)}; ${rest}.`
}

/** More of them are no longer read. */
const mostQuoted = 3

function quoted(actions: readonly string[]): string {
  const shown = actions.slice(0, mostQuoted).map((action) => `“${visible(action)}”`)
  return `${shown.join(' or ')}${actions.length > mostQuoted ? ' or something else' : ''}`
}

const SampleTable: FunctionComponent<{ title: string; group: GroupAnswer }> = ({ title, group }) => (
  <Section
    id="samples"
    title={title}
    note={
      group.total > group.samples.length
        ? `The first ${count(group.samples.length)} of ${count(group.total)}.`
        : undefined
    }
  >
    <Table
      label={title}
      columns={[
        'Sample',
        'Instance',
        'Outcome',
        { name: 'Reward', isFigures: true },
        { name: 'Advantage', isFigures: true },
        { name: 'Turns', isFigures: true },
        { name: 'Tokens', isFigures: true },
        { name: 'Versions', isFigures: true },
      ]}
    >
      {group.samples.map((sample) => (
        <SampleLine key={sample.episode} sample={sample} group={group} />
      ))}
    </Table>
  </Section>
)

const SampleLine: FunctionComponent<{ sample: GroupSample; group: GroupAnswer }> = ({ sample, group }) => (
  <tr>
    <th scope="row">
      <a href={addressOf({ view: 'episode', episode: sample.episode })}>
        {sample.episode.slice(group.id.length + 1)}
      </a>
      {sample.counts ? null : <span class="quiet small"> not counted</span>}
    </th>
    <td>
      <span class="cut">{visible(sample.instance)}</span>
    </td>
    <td>
      <OutcomeBadge outcome={sample.outcome} isSuccess={sample.success} />
    </td>
    <td class="figures">{sample.reward === null ? '–' : plain(sample.reward)}</td>
    <td class="figures">
      <SampleAdvantage sample={sample} learnt={group.learnt} />
    </td>
    <td class="figures">{sample.turns ?? '–'}</td>
    <td class="figures">{sample.tokens === null ? '–' : count(sample.tokens)}</td>
    <td class="figures">{versionsText(sample.versions)}</td>
  </tr>
)
