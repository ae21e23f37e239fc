/**
 * The report at the end of a run: success at warm start and at the end, cost, directory, and the next commands.
 *
 * Invariants
 * - Pure: the same run gives the same text.
 * - Every success is shown with its number of episodes and its 95 % interval.
 */

import type { SuiteComparison } from '../../client/experiment/comparison.ts'
import type { EvaluationSummary, RunProgress } from '../../client/session/training-session.ts'
import { episodeCountWords } from '../../learning/evaluation/evaluation-completeness.ts'
import { judgedWords } from '../../learning/evaluation/judgement.ts'
import { isUntrained, type LearningCourse, standstillWords } from '../../learning/run/learning-signal.ts'
import type { Interval } from '../../learning/statistics/interval.ts'
import { commandName, homeFlag } from '../../machine/processes/typed-command.ts'
import { type Fact, factLines, Table } from '../terminal/table.ts'
import { count, differenceWords, duration, inLines, points, pointsBetween } from '../terminal/wording.ts'
import { bySuite, shareWithInterval } from './live-view.ts'

/** Columns of the narrowest usual terminal. */
const reportWidth = 80

/** Input of the report. */
export interface RunEnd {
  readonly progress: RunProgress
  /** On each suite, the first version that was evaluated compared with the last one. */
  readonly course?: readonly SuiteComparison[] | undefined
  /** Wall-clock time, breaks included. */
  readonly seconds: number
  readonly directory: string
  /** Where the UI is served, if it is. */
  readonly uiUrl: string | undefined
  /** As given to `--home`, where it is not the default one. */
  readonly home?: string | undefined
}

type Measured = Pick<RunProgress, 'evaluations' | 'experts'>

function versionWords({ version }: { readonly version: number }): string {
  return version === 0 ? 'warm start (v0)' : `v${version}`
}

function successTable({ evaluations, experts = [] }: Measured, colours: boolean): Table {
  const isJudged = evaluations.some(({ measured }) => measured !== undefined)
  const judged = ({ measured }: Partial<EvaluationSummary>) =>
    isJudged ? [measured === undefined ? '' : judgedWords(measured)] : []
  const rows = [...bySuite(evaluations)].flatMap(([suite, ordered]) => {
    const [first] = ordered
    const last = ordered.at(-1)
    const policies = (first === last ? [first] : [first, last]).flatMap((shown) =>
      shown === undefined
        ? []
        : [
            [
              suite,
              episodeCountWords(shown),
              versionWords(shown),
              shareWithInterval(shown.success, shown.n),
              ...judged(shown),
            ],
          ],
    )
    const expert = experts.find((each) => each.suite === suite)
    if (expert === undefined) return policies
    const { n, success } = expert
    return [...policies, [suite, count(n), 'the expert', shareWithInterval(success, n), ...judged({})]]
  })
  return new Table({
    head: ['suite', 'episodes', 'checkpoint', 'success (95 %)', ...(isJudged ? ['judged by (95 %)'] : [])],
    aligns: ['left', 'right', 'left', 'right', ...(isJudged ? (['right'] as const) : [])],
    rows,
    colours,
  })
}

/** One line a suite: how far its measure moved, with the 95 % interval of the difference. */
function differences(course: readonly SuiteComparison[]): readonly string[] {
  return course.flatMap(({ suite, measure, before, after, paired, unpaired }) => {
    const found = paired ?? unpaired
    if (found === undefined) return []
    return [`${suite}: ${movedWords(measure, found)} from ${versionWords(before)} to ${versionWords(after)}`]
  })
}

function movedWords(
  { isShare, words, unit }: SuiteComparison['measure'],
  found: Interval & { readonly difference: number },
): string {
  if (isShare) return `${points(found.difference)} points (${pointsBetween(found)})`
  return `${words} ${[differenceWords(found, false), unit].filter(Boolean).join(' ')}`
}

const purposes = {
  resume: 'continue it',
  status: 'its progress',
  eval: 'measure a checkpoint',
  export: 'its trajectories as a file',
  ui: 'its curves and episodes in the browser',
} as const

/** The commands that continue from here, each with what it is for: beside it, or below where that is too wide. */
export function nextCommands(
  run: string,
  home: string | undefined,
  ended: boolean,
  columns = Number.POSITIVE_INFINITY,
): readonly string[] {
  const at = home === undefined ? '' : homeFlag(home)
  const commands = Object.entries(purposes)
    .filter(([name]) => name !== 'resume' || !ended)
    .map(([name, purpose]) => {
      const named = name === 'ui' ? '' : ` ${run}`
      return { command: `${commandName()} ${name}${named}${at}`, purpose }
    })
  const width = Math.max(...commands.map(({ command }) => command.length))
  const lines = commands.map(({ command, purpose }) => `  ${command.padEnd(width)}  ${purpose}`)
  if (lines.every((line) => line.length <= columns)) return lines
  return commands.map(({ command, purpose }) => `  ${command}\n    ${purpose}`)
}

/** Says why updates had nothing to learn from; empty when the last update learnt. */
export function learningWords(course: LearningCourse): readonly string[] {
  const { step, nothingLearnt } = course
  if (nothingLearnt === undefined) return []
  const never = isUntrained(course)
    ? `The policy never changed: none of ${count(step)} ${step === 1 ? 'update' : 'updates'} had anything to learn from. `
    : ''
  return ['', ...inLines(`${never}${standstillWords(nothingLearnt)}`, reportWidth)]
}

/** The report as text. */
export function finalReport(end: RunEnd, colours: boolean, columns = Number.POSITIVE_INFINITY): string {
  const { progress, course = [], seconds, directory, uiUrl, home } = end
  const facts: Fact[] = [
    ['updates', `${count(progress.step)} of ${count(progress.updates)}`],
    ['time', duration(seconds)],
    ['episodes', count(progress.episodes)],
    ['tokens', count(progress.tokens)],
    ['run', directory],
    ...(uiUrl === undefined ? [] : ([['Temporal UI', uiUrl]] as Fact[])),
  ]
  return [
    ...learningWords(progress),
    '',
    progress.evaluations.length === 0
      ? 'No evaluation finished.'
      : successTable(progress, colours).inWidth(columns),
    ...differences(course),
    '',
    ...factLines(facts, columns),
    '',
    'Next:',
    ...nextCommands(progress.run, home, progress.phase === 'done', columns),
  ].join('\n')
}
