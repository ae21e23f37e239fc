/**
 * What a run ends with: success at warm start and at the end, what it cost, where it lies, how to go on.
 *
 * Invariants
 * - Pure: the same run gives the same text.
 * - Every success stands with its number of episodes and its 95 % interval.
 */
import Table from 'cli-table3'
import type { EvaluationSummary, RunProgress } from '../workers/training-session.ts'
import { bySuite, shareWithInterval } from './live-view.ts'
import { count, duration, points } from './wording.ts'

/** What the report is made of. */
export interface RunEnd {
  readonly progress: RunProgress
  /** Wall time of this command. */
  readonly seconds: number
  readonly directory: string
  readonly uiUrl: string | undefined
  /** As given to `--home`, where it is not the default one. */
  readonly home?: string | undefined
}

function versionWords(evaluation: EvaluationSummary): string {
  return evaluation.version === 0 ? 'warm start (v0)' : `v${evaluation.version}`
}

function successTable(evaluations: readonly EvaluationSummary[], colours: boolean): string {
  const table = new Table({
    head: ['suite', 'episodes', 'first', 'success (95 %)', 'last', 'success (95 %)', 'difference'],
    colAligns: ['left', 'right', 'left', 'right', 'left', 'right', 'right'],
    style: { head: colours ? ['bold'] : [], border: colours ? ['grey'] : [], compact: true },
  })
  for (const [suite, ordered] of bySuite(evaluations)) {
    const first = ordered[0]
    const last = ordered.at(-1)
    if (first === undefined || last === undefined) continue
    const once = ordered.length === 1
    table.push([
      suite,
      first.n === last.n ? count(first.n) : `${count(first.n)}, ${count(last.n)}`,
      versionWords(first),
      shareWithInterval(first.success, first.n),
      once ? '' : versionWords(last),
      once ? '' : shareWithInterval(last.success, last.n),
      once ? '' : points(last.success - first.success),
    ])
  }
  return table.toString()
}

/** The commands that go on from here. */
export function nextCommands(run: string, home: string | undefined, ended: boolean): readonly string[] {
  const at = home === undefined ? '' : ` --home ${home}`
  return [
    ...(ended ? [] : [`perdure resume ${run}${at}`]),
    `perdure status ${run}${at}`,
    ...(ended ? [`perdure resume ${run}${at}`] : []),
    `perdure eval ${run}${at}`,
    `perdure export ${run}${at}`,
    `perdure ui${at}`,
  ]
}

const purposes: Record<string, string> = {
  resume: 'go on with it',
  status: 'where it stands',
  eval: 'measure a checkpoint',
  export: 'its trajectories as a file',
  ui: 'its workflows in the browser',
}

/** The commands that go on from here, each with what it is for. */
export function howToGoOn(run: string, home: string | undefined, ended: boolean): readonly string[] {
  const commands = nextCommands(run, home, ended)
  const width = Math.max(...commands.map((command) => command.length))
  return commands.map((command) => {
    const purpose = purposes[command.split(' ')[1] ?? ''] ?? ''
    return `  ${command.padEnd(width)}  ${purpose}`
  })
}

/** The report as text. */
export function finalReport(end: RunEnd, colours: boolean): string {
  const { progress, seconds, directory, uiUrl, home } = end
  const facts: [string, string][] = [
    ['updates', `${count(progress.step)} of ${count(progress.updates)}`],
    ['time', duration(seconds)],
    ['episodes', count(progress.episodes)],
    ['tokens', count(progress.tokens)],
    ['run', directory],
    ...(uiUrl === undefined ? [] : ([['Temporal UI', uiUrl]] as [string, string][])),
  ]
  const width = Math.max(...facts.map(([name]) => name.length))
  return [
    '',
    progress.evaluations.length === 0
      ? 'No evaluation finished.'
      : successTable(progress.evaluations, colours),
    ...facts.map(([name, value]) => `${name.padEnd(width)}  ${value}`),
    '',
    'Go on with',
    ...howToGoOn(progress.run, home, progress.phase === 'done'),
  ].join('\n')
}
