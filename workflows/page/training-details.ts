/**
 * The current details of a run, in Markdown, for the Temporal UI.
 *
 * Invariants
 * - It says only what the state says.
 */
import { setCurrentDetails } from '@temporalio/workflow'
import type { TrainingState } from '../../contract/training-state.ts'
import { evaluationId, groupId } from '../../identity/identity.ts'
import { episodeCountWords } from '../../learning/evaluation/evaluation-completeness.ts'
import { standstillWords } from '../../learning/run/learning-signal.ts'
import { percent } from '../../learning/statistics/percent.ts'
import { fruitlessWords, holdOffSeconds } from '../state/fruitless-groups.ts'
import { setPhase } from '../state/transitions/phase.ts'
import { dashboardLink, figure, listLink, type Place, table, workflowLink } from './links.ts'
import { here } from './place.ts'

/** The latest evaluations are shown; the store has all. */
const shownEvaluations = 10
const shownGroups = 16

/** Shows the current phase of the run. */
export function showPhase(state: TrainingState, phase: TrainingState['phase']): void {
  setPhase(state, phase)
  setCurrentDetails(describe(state))
}

/** @returns Markdown of a few lines, for the workflow that asks */
export function describe(state: TrainingState): string {
  return describeRun(state, here())
}

/** Progress of a run, with links to its parts. */
export function describeRun(state: TrainingState, place: Place): string {
  const { config, phase, step, version, inFlight, ready, episodes, tokens, warmStart } = state
  const parts = [
    `**${phase}** · update ${step} of ${config.training.updates} · version ${version}`,
    `${inFlight.length} groups in flight, ${ready.length} ready · ${episodes} episodes · ${tokens} tokens`,
  ]
  if (state.pauseReason !== null) parts.push(`Paused: ${state.pauseReason}`)
  if (state.message !== undefined) parts.push(`Failed: ${state.message}`)
  if (state.nothingLearnt !== null) parts.push(standstillWords(state.nothingLearnt))
  if (holdOffSeconds(state) > 0) parts.push(`Held off: ${fruitlessWords(state)}`)
  if (warmStart !== null && warmStart.done < warmStart.total)
    parts.push(`Warm start: part ${warmStart.done} of ${warmStart.total}`)
  const tasks = Object.entries(state.success)
  if (tasks.length > 0)
    parts.push(
      table(
        ['task', 'success', 'mean reward', 'episodes'],
        tasks.map(([task, share]) => [
          task,
          percent(share),
          figure(state.reward[task]),
          `${state.samples[task] ?? ''}`,
        ]),
      ),
    )
  if (state.evaluations.length > 0) parts.push(evaluationsTable(state, place))
  if (inFlight.length > 0) parts.push(`In flight: ${groupLinks(state, place)}`)
  if (config.orchestration.dashboardUrl)
    parts.push(`Dashboard: ${dashboardLink(config.orchestration.dashboardUrl, 'runs', state.run)}`)
  parts.push(inspectionLinks(state, place))
  return parts.join('\n\n')
}

function evaluationsTable({ run, config, evaluations }: TrainingState, place: Place): string {
  return table(
    ['evaluation', 'version', 'success', 'episodes'],
    evaluations.slice(-shownEvaluations).map(({ suite, version, success, n, planned }) => {
      const id = evaluationId(run, suite, version, config.seed)
      return [
        workflowLink(place, id, suite),
        `${version}`,
        percent(success),
        episodeCountWords({ n, planned }),
      ]
    }),
  )
}

function groupLinks({ run, inFlight }: TrainingState, place: Place): string {
  const links = inFlight
    .slice(0, shownGroups)
    .map(({ number }) => workflowLink(place, groupId(run, number), `g${number}`))
  return [...links, ...(inFlight.length > shownGroups ? ['…'] : [])].join(', ')
}

/** Lists of the UI from which an inspection starts. */
function inspectionLinks({ run }: TrainingState, place: Place): string {
  const list = (text: string, type: string, ...more: Parameters<typeof listLink>[3]) =>
    listLink(place, text, type, [['run', '=', run], ...more])
  return [
    list('Groups', 'rolloutGroup'),
    list('episodes', 'episode'),
    list('episodes below full reward', 'episode', ['reward', '<', 1]),
    list('infrastructure failures', 'episode', ['outcome', '=', 'infrastructure_error']),
    list('evaluations', 'evaluation'),
  ].join(' · ')
}
