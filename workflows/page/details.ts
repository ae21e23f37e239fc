/**
 * Texts about groups, episodes, evaluations and branches for the Temporal UI.
 *
 * Invariants
 * - Static texts give the facts of a plan; current texts give its progress.
 * - They say only what the workflow knows, in a bounded number of lines.
 * - This module is pure and safe inside workflows.
 */

import type {
  BranchPlan,
  EpisodePlan,
  EpisodeResult,
  EvaluationPlan,
  GroupPlan,
  VersionRule,
} from '../../contract/messages.ts'
import { isBranchId, type ParentId, parseEpisodeId } from '../../identity/identity.ts'
import type { PagePlace } from '../../identity/page-address.ts'
import type { Outcome } from '../../learning/evaluation/outcome.ts'
import { dashboardLink, figure, listLink, type Place, table, verbatim, workflowLink } from './links.ts'

/** The latest turns are shown; the store has all of them. */
const shownTurns = 20

/** A set of at most so many samples has a row for each; a larger set is shown in sums. */
const shownSamples = 64

/** The name of an episode in lists. @example 'alfworld · train #3 · sample 2' */
export function episodeSummary({ episode, task, split, position, from }: EpisodePlan): string {
  const { sample, attempt } = parseEpisodeId(episode)
  const what = from === undefined ? `${split} #${position}` : `from turn ${from.turn} of ${from.episode}`
  return `${task} · ${what} · sample ${sample}${attempt === 0 ? '' : `, attempt ${attempt}`}`
}

/** The table of an episode's facts. */
export function episodeFacts(plan: EpisodePlan, place: Place): string {
  const { episode, run, task, split, position, from, temperature } = plan
  const { parent, sample, attempt } = parseEpisodeId(episode)
  return table(
    ['episode', episode],
    [
      ['run', workflowLink(place, run)],
      [kindOf(parent), workflowLink(place, parent)],
      ['task', task],
      from === undefined
        ? ['instance', `${split} #${position}`]
        : ['plays on from', `turn ${from.turn} of ${workflowLink(place, from.episode)}`],
      ['sample', `${sample}, attempt ${attempt}`],
      ['policy', `${policyOf(plan.versions)}, temperature ${figure(temperature)}`],
      ...dashboardRow(plan, 'episodes', episode),
    ],
  )
}

/** Link to the dashboard, where curves, messages and tokens are; no row without its address. */
function dashboardRow(
  { dashboardUrl }: Pick<EpisodePlan, 'dashboardUrl'>,
  place: PagePlace,
  id: string,
): readonly (readonly string[])[] {
  return dashboardUrl === undefined ? [] : [['dashboard', dashboardLink(dashboardUrl, place, id)]]
}

function kindOf(parent: ParentId): string {
  if (isBranchId(parent)) return 'branch'
  return parent.includes('/e-') ? 'evaluation' : 'group'
}

function policyOf(rule: VersionRule): string {
  if (rule.kind === 'fixed') return `version ${rule.version}`
  if (rule.pool.length === 0 || rule.staleShare === 0) return 'the newest version'
  return `the newest version, ${figure(100 * rule.staleShare)} % of turns one of ${rule.pool.join(', ')}`
}

/** A turn that was played in this execution. */
export interface PlayedTurn {
  readonly turn: number
  readonly version: number
  /** The action in a few words. */
  readonly action: string
  readonly reward: number
}

/** Progress of an episode. */
export interface EpisodeCourse {
  readonly turns: number
  /** Sum of the rewards of the turns. */
  readonly reward: number
  readonly played: readonly PlayedTurn[]
  readonly ending?: {
    readonly outcome: Outcome
    readonly reward: number | null
    readonly failure: string | null
  }
}

/** The course of an episode, turn by turn. */
export function describeEpisode({ turns, reward, played, ending }: EpisodeCourse): string {
  const state = ending === undefined ? 'playing' : ending.outcome
  const total = ending === undefined ? `reward so far ${figure(reward)}` : `reward ${figure(ending.reward)}`
  const last = played.at(-1)
  const shown = played.slice(-shownTurns)
  const before = turns - shown.length
  return paragraphs([
    `**${state}** · ${turns} turns · ${total}`,
    last === undefined ? undefined : `Last action: ${verbatim(last.action)}`,
    ending?.failure === undefined || ending.failure === null
      ? undefined
      : `Failed: ${verbatim(ending.failure)}`,
    before > 0 && shown.length > 0 ? `The ${before} turns before are in the store.` : undefined,
    shown.length === 0
      ? undefined
      : table(
          ['turn', 'version', 'action', 'reward'],
          shown.map((row) => [`${row.turn}`, `${row.version}`, verbatim(row.action), figure(row.reward)]),
        ),
  ])
}

/** The table of a group's facts. */
export function groupFacts(
  { group, run, version, groupSize, quorum, episode }: GroupPlan,
  place: Place,
): string {
  return table(
    ['group', group],
    [
      ['run', workflowLink(place, run)],
      ['task', episode.task],
      ['instance', `${episode.split} #${episode.position}`],
      ['admitted at', `version ${version}`],
      ['episodes', quorum === groupSize ? `${groupSize}` : `${groupSize}, ${quorum} suffice`],
      ['policy', `${policyOf(episode.versions)}, temperature ${figure(episode.temperature)}`],
      ...dashboardRow(episode, 'groups', group),
    ],
  )
}

/** How far a group has come. @param results by sample; null where there is none, or none yet */
export function describeGroup(
  { group, groupSize }: Pick<GroupPlan, 'group' | 'groupSize'>,
  results: readonly (EpisodeResult | null)[],
  place: Place,
  without: WithoutResult = 'playing',
): string {
  const rows = results.map((result, sample) => ({ sample, result }))
  return paragraphs([tally(rows, groupSize), samplesTable(group, rows, place, without)])
}

/** State of a sample without a result. */
export type WithoutResult = 'playing' | 'no result'

/** How far a branch has come. @param results by sample; null where no attempt ended with a reward */
export function describeBranch(
  { branch, samples }: BranchPlan,
  results: ReadonlyMap<number, EpisodeResult | null>,
  place: Place,
  without: WithoutResult = 'playing',
): string {
  const rows = samples.map(({ sample }) => ({ sample, result: results.get(sample) ?? null }))
  return paragraphs([tally(rows, samples.length), samplesTable(branch, rows, place, without)])
}

/** The table of a branch's facts. */
export function branchFacts({ branch, run, version, episode }: BranchPlan, place: Place): string {
  return table(
    ['branch', branch],
    [
      ['run', workflowLink(place, run)],
      ['plays on from', `turn ${episode.from.turn} of ${workflowLink(place, episode.from.episode)}`],
      ['policy', `version ${version}, temperature ${figure(episode.temperature)}`],
      ...dashboardRow(episode, 'groups', branch),
    ],
  )
}

interface SampleRow {
  readonly sample: number
  readonly result: EpisodeResult | null
}

function tally(rows: readonly SampleRow[], size: number): string {
  const ended = rows.flatMap(({ result }) => result ?? [])
  const rewards = ended.flatMap(({ reward }) => reward ?? [])
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / Math.max(1, rewards.length)
  const won = ended.filter(({ success }) => success).length
  return `**${ended.length} of ${size} ended** · ${won} succeeded · mean reward ${figure(rewards.length === 0 ? null : mean)}`
}

function samplesTable(
  parent: ParentId,
  rows: readonly SampleRow[],
  place: Place,
  without: WithoutResult,
): string {
  return table(
    ['sample', 'reward', 'outcome', 'turns'],
    rows.slice(0, shownSamples).map(({ sample, result }) => {
      const id = result?.episode ?? `${parent}/s${sample}/a0`
      const link = workflowLink(place, id, `s${sample}`)
      return result === null
        ? [link, '', without, '']
        : [link, figure(result.reward), result.outcome, `${result.turns}`]
    }),
  )
}

/** The table of an evaluation's facts. */
export function evaluationFacts(plan: EvaluationPlan, place: Place): string {
  const { evaluation, run, suite, version, episodes, samples = 1, episode } = plan
  return table(
    ['evaluation', evaluation],
    [
      ['run', workflowLink(place, run)],
      ['suite', `${suite}: ${episode.task}, split ${episode.split}`],
      ['version', `${version}, temperature ${figure(episode.temperature)}`],
      ['episodes', samples === 1 ? `${episodes}` : `${episodes} instances of ${samples} samples`],
      ...dashboardRow(episode, 'groups', evaluation),
    ],
  )
}

/** The figures of an evaluation so far. */
export function describeEvaluation(
  { evaluation, episodes, samples = 1 }: EvaluationPlan,
  {
    ended,
    successes,
    rewardSum,
    lost,
  }: { ended: number; successes: number; rewardSum: number; lost: number },
  place: Place,
): string {
  const share = ended === 0 ? '—' : `${figure((100 * successes) / ended)} %`
  const list = (text: string, ...more: Parameters<typeof listLink>[3]) =>
    listLink(place, text, 'episode', [['group', '=', evaluation], ...more])
  return paragraphs([
    `**${share} succeed**: ${successes} of ${ended} · mean reward ${figure(ended === 0 ? null : rewardSum / ended)}`,
    `${ended} of ${episodes * samples} episodes have ended with a reward${lost === 0 ? '' : `, ${lost} are lost`}`,
    `${list('Its episodes')} · ${list('those below full reward', ['reward', '<', 1])}`,
  ])
}

function paragraphs(parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined).join('\n\n')
}
