/**
 * The live view of a run: what the terminal shows while it is in progress.
 *
 * Invariants
 * - Rendering is pure: the same state and width give the same lines.
 * - No line is wider than the terminal, so that redrawing never leaves scraps behind.
 * - Where there is no terminal, a line is written when something happened, not for every look.
 */
import { styleText } from 'node:util'
import type { EvaluationSummary, RunPhase, RunProgress } from '../../client/session/training-session.ts'
import { episodeCountWords, isComplete } from '../../learning/evaluation/evaluation-completeness.ts'
import { judgedWords } from '../../learning/evaluation/judgement.ts'
import { failingWords, leftOutWords } from '../../learning/run/failing-words.ts'
import { standstillLine, standstillWords } from '../../learning/run/learning-signal.ts'
import { type Interval, wilsonInterval } from '../../learning/statistics/interval.ts'
import { percent } from '../../learning/statistics/percent.ts'
import { shownLine } from '../../machine/files/shown-text.ts'
import { withTypedCommands } from '../../machine/processes/typed-command.ts'
import { count, duration, inLines, runSeconds, timeOfDay } from '../terminal/wording.ts'
import type { Pace } from './pace.ts'

/** State of a run at one moment. */
export interface LiveState extends Pace {
  readonly progress: RunProgress
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly uiUrl: string | undefined
  /** Where `perdure ui` shows the run. */
  readonly page?: string | undefined
  /** A message for the person, e.g. that the run is being stopped. */
  readonly notice?: string | undefined
}

type Style = 'plain' | 'dim' | 'bold' | 'good' | 'warn' | 'bad' | 'accent'
interface Segment {
  readonly text: string
  readonly style: Style
}
type Line = readonly Segment[]

const formats: Record<Style, Parameters<typeof styleText>[0]> = {
  plain: 'reset',
  dim: 'dim',
  bold: 'bold',
  good: 'green',
  warn: 'yellow',
  bad: 'red',
  accent: 'cyan',
}

const phaseWords: Record<RunPhase, { readonly words: string; readonly style: Style }> = {
  starting: { words: 'starting', style: 'accent' },
  warm_start: { words: 'warm start', style: 'accent' },
  evaluating: { words: 'evaluating', style: 'accent' },
  training: { words: 'training', style: 'accent' },
  paused: { words: 'paused', style: 'warn' },
  stopping: { words: 'stopping', style: 'warn' },
  done: { words: 'done', style: 'good' },
  stopped: { words: 'stopped', style: 'warn' },
  failed: { words: 'failed', style: 'bad' },
}

/** Phases in which no update comes any more. */
const endedPhases: ReadonlySet<RunPhase> = new Set(['done', 'stopped', 'failed'])

/** A phase in words. */
function phaseInWords(phase: RunPhase): string {
  return phaseWords[phase].words
}

const labelWidth = 12
const plain = (text: string): Segment => ({ text, style: 'plain' })
const dim = (text: string): Segment => ({ text, style: 'dim' })
const bold = (text: string): Segment => ({ text, style: 'bold' })
const labelled = (label: string, ...rest: readonly Segment[]): Line => [
  dim(` ${label.padEnd(labelWidth)}`),
  ...rest,
]

/** A share with its 95 % interval, e.g. `41.4 % (33.3–50.0)`. */
export function shareWithInterval(success: number, n: number, interval?: Interval): string {
  if (n < 1) return percent(success)
  const { low, high } = interval ?? wilsonInterval(Math.round(success * n), n)
  return `${percent(success)} (${(low * 100).toFixed(1)}–${(high * 100).toFixed(1)})`
}

/** The result of an evaluation with its interval, that of the suite's measure, and its lost episodes, if any. */
export function findingWords({ n, planned, ...found }: Finding): string {
  const loss = n < planned ? `, ${episodeCountWords({ n, planned })}` : ''
  return `${withMeasure(shareWithInterval(found.success, n, found.interval), found)}${loss}`
}

type Finding = Pick<EvaluationSummary, 'success' | 'n' | 'interval' | 'measured'> & {
  readonly planned: number
}

function withMeasure(words: string, { measured }: Pick<EvaluationSummary, 'measured'>): string {
  return measured === undefined ? words : `${words}, ${judgedWords(measured)}`
}

function bar(done: number, total: number, width: number): readonly Segment[] {
  const filled = total > 0 ? Math.min(width, Math.floor((done / total) * width)) : 0
  return [
    { text: '█'.repeat(filled), style: 'accent' },
    { text: '░'.repeat(width - filled), style: 'dim' },
  ]
}

function headLine({ progress, secondsLeft }: LiveState, columns: number): Line {
  const { words, style } = phaseWords[progress.phase]
  const warming = progress.phase === 'warm_start' ? progress.warmStart : undefined
  const [done, total] = warming ? [warming.done, warming.total] : [progress.step, progress.updates]
  const counted = `${warming ? 'part' : 'update'} ${done} of ${total}`
  const left = secondsLeft === undefined ? '' : ` · ${duration(secondsLeft)} left`
  const fixed = progress.run.length + words.length + counted.length + left.length + 6
  const width = Math.min(40, Math.max(0, columns - fixed))
  return [
    bold(` ${progress.run} `),
    { text: words, style },
    plain('  '),
    ...(width >= 8 ? [...bar(done, total, width), plain('  ')] : []),
    plain(counted),
    dim(left),
  ]
}

function taskLines(progress: RunProgress): readonly Line[] {
  const tasks = Object.entries(progress.success)
  const widest = Math.max(0, ...tasks.map(([task]) => task.length))
  return tasks.map(([task, success], index) => {
    const samples = progress.samples[task] ?? 0
    const reward = progress.reward[task]
    return labelled(
      index === 0 ? 'success' : '',
      plain(`${task.padEnd(widest)}  `),
      bold(shareWithInterval(success, samples)),
      dim(samples > 0 ? ` of ${samples}` : ''),
      dim(reward === undefined ? '' : ` · reward ${reward.toFixed(2)}`),
      dim(index === 0 ? ' · last update' : ''),
    )
  })
}

/** Evaluations by suite, each in the order of its versions. */
export function bySuite(
  evaluations: readonly EvaluationSummary[],
): ReadonlyMap<string, readonly EvaluationSummary[]> {
  const suites = Map.groupBy(evaluations, ({ suite }) => suite)
  for (const suite of suites.values()) suite.sort((a, b) => a.version - b.version)
  return suites
}

function evaluationLines(progress: RunProgress): readonly Line[] {
  const failed = (progress.failedEvaluations ?? []).map(({ suite, version, reason }) =>
    labelled('', plain(`${suite}  `), dim(`v${version} failed: ${reason}`)),
  )
  const measured = [...bySuite(progress.evaluations)].map(([suite, evaluations], index) => {
    // The first one is what the run is measured against, the last ones are where it is now.
    const shown =
      evaluations.length > 3 ? [...evaluations.slice(0, 1), ...evaluations.slice(-2)] : evaluations
    const texts = shown.map(({ version, ...found }, at) => [
      dim(at === 0 ? '' : evaluations.length > 3 && at === 1 ? ' … ' : ' → '),
      dim(`v${version} `),
      bold(
        at === 0 || at === shown.length - 1 || !isComplete(found)
          ? findingWords(found)
          : withMeasure(percent(found.success), found),
      ),
    ])
    return labelled(index === 0 ? 'evaluated' : '', plain(`${suite}  `), ...texts.flat())
  })
  return [...measured, ...failed]
}

// An address that is cut off is of no use: it drops its label first.
function addressLine(label: string, address: string, columns: number): Line {
  const segment: Segment = { text: address, style: 'accent' }
  const fits = 1 + labelWidth + address.length <= columns
  return fits ? labelled(label, segment) : [plain(' '), segment]
}

/** The view as lines of styled text. */
function liveLines(state: LiveState, columns: number): readonly Line[] {
  const { progress, now, tokensPerSecond, page, uiUrl, notice } = state
  const elapsed = duration(runSeconds({ created: progress.startedAt }, now))
  const rate = tokensPerSecond === undefined ? '' : ` · ${count(tokensPerSecond)} tokens/s`
  const lines: Line[] = [
    headLine(state, columns),
    ...taskLines(progress),
    ...evaluationLines(progress),
    labelled(
      'in flight',
      plain(`${count(progress.episodesInFlight)} episodes in ${count(progress.groupsInFlight)} groups`),
      dim(` · ${count(progress.groupsReady)} ready · staleness ${progress.staleness.toFixed(2)}`),
    ),
    labelled(
      'so far',
      plain(`${count(progress.episodes)} episodes · ${count(progress.tokens)} tokens${rate}`),
      dim(` · ${elapsed}`),
    ),
  ]
  if (page !== undefined) lines.push(addressLine('perdure ui', page, columns))
  if (uiUrl !== undefined) lines.push(addressLine('temporal ui', uiUrl, columns))
  if (progress.message !== undefined)
    lines.push(
      labelled('says', { text: progress.message, style: progress.phase === 'failed' ? 'bad' : 'warn' }),
    )
  const standstill = progress.nothingLearnt && standstillWords(progress.nothingLearnt)
  for (const text of [progress.pauseReason, progress.warning, standstill])
    if (text !== undefined) lines.push(...wrapped('note', text, columns))
  if (progress.leftOut !== undefined)
    lines.push(...wrapped('left out', leftOutWords(progress.leftOut), columns))
  for (const failing of progress.failing ?? [])
    lines.push(...wrapped('failing', failingWords(failing), columns))
  if (notice !== undefined) lines.push(labelled('note', { text: notice, style: 'warn' }))
  return lines
}

/** A text that must be read whole: in as many lines as it takes. */
function wrapped(label: string, text: string, columns: number): readonly Line[] {
  const room = Math.max(20, columns - labelWidth - 1)
  return inLines(withTypedCommands(text), room).map((line, index) =>
    labelled(index === 0 ? label : '', { text: line, style: 'warn' }),
  )
}

/** How styled text reaches a terminal; `stream` decides on colours (NO_COLOR and pipes have none). */
export interface Paint {
  readonly columns: number
  readonly colours: boolean
}

function paint(line: Line, { columns, colours }: Paint): string {
  let room = columns
  let painted = ''
  for (const { text: given, style } of line) {
    if (room <= 0) break
    const text = shownLine(given)
    const fitting = text.length <= room ? text : `${text.slice(0, Math.max(0, room - 1))}…`
    room -= fitting.length
    painted +=
      style === 'plain' || !colours || fitting === ''
        ? fitting
        : styleText(formats[style], fitting, { validateStream: false })
  }
  return painted.trimEnd()
}

/**
 * The view as text lines, ready to be drawn.
 * @param state what is known of the run
 * @param surface width of the terminal, colours or not
 */
export function renderLive(state: LiveState, surface: Paint): readonly string[] {
  return liveLines(state, surface.columns).map((line) => paint(line, surface))
}

/** Progress at the first look; earlier events are not reported. */
function linesAtFirstLook(progress: RunProgress): readonly string[] {
  const { phase, warmStart, step, updates, nothingLearnt, message, pauseReason } = progress
  const place =
    phase === 'warm_start' && warmStart !== undefined && warmStart.done > 0
      ? `, part ${warmStart.done} of ${warmStart.total}`
      : step > 0 && !endedPhases.has(phase)
        ? ` · update ${step} of ${updates}`
        : ''
  return [
    ...(nothingLearnt === undefined ? [] : [standstillWords(nothingLearnt)]),
    `${phaseInWords(phase)}${place}`,
    ...[message, pauseReason].filter((each) => each !== undefined),
  ]
}

function happened(before: RunProgress | undefined, after: RunProgress): readonly string[] {
  if (before === undefined) return linesAtFirstLook(after)
  const events: string[] = []
  const warming = after.warmStart
  if (warming !== undefined && warming.done > 0 && before.warmStart?.done !== warming.done)
    events.push(
      warming.found
        ? 'warm start, found in the cache'
        : `warm start, part ${warming.done} of ${warming.total}`,
    )
  if (after.step > before.step)
    events.push(
      [
        `update ${after.step} of ${after.updates}`,
        ...Object.entries(after.success).map(([task, success]) => `${task} success ${percent(success)}`),
        `staleness ${after.staleness.toFixed(2)}`,
        `${count(after.episodes)} episodes`,
        `${count(after.tokens)} tokens`,
        ...(after.nothingLearnt === undefined ? [] : [standstillLine(after.nothingLearnt)]),
      ].join(' · '),
    )
  // The line of each update says how long the standstill lasts; the advice is printed once for each cause.
  if (after.nothingLearnt !== undefined && after.nothingLearnt.cause !== before.nothingLearnt?.cause)
    events.push(standstillWords(after.nothingLearnt))
  for (const found of after.evaluations) {
    const { suite, version, success, n, planned } = found
    const known = before.evaluations.some(
      (each) => each.suite === suite && each.version === version && each.n === n,
    )
    if (!known)
      events.push(
        withMeasure(
          `evaluated ${suite} at v${version}: ${shareWithInterval(success, n)} of ${episodeCountWords({ n, planned })}`,
          found,
        ),
      )
  }
  for (const { suite, version, reason } of after.failedEvaluations ?? []) {
    const isKnown = (each: { suite: string; version: number }) =>
      each.suite === suite && each.version === version
    if (before.failedEvaluations?.some(isKnown) !== true)
      events.push(`evaluation ${suite} of v${version} failed: ${reason}`)
  }
  if (after.leftOut !== undefined && after.leftOut.count > (before.leftOut?.count ?? 0))
    events.push(leftOutWords(after.leftOut))
  for (const { work, reason, attempt } of after.failing ?? [])
    if (before.failing?.some((each) => each.work === work && each.reason === reason) !== true)
      events.push(failingWords({ work, reason, attempt }))
  if (before.phase !== after.phase) events.push(phaseInWords(after.phase))
  if (after.message !== undefined && after.message !== before.message) events.push(after.message)
  if (after.pauseReason !== undefined && before.pauseReason === undefined) events.push(after.pauseReason)
  return events
}

/** Lines for a place without a terminal: what happened between two looks at a run, with the time. */
export function plainLines(before: RunProgress | undefined, state: LiveState): readonly string[] {
  const { progress, now, tokensPerSecond, secondsLeft } = state
  return happened(before, progress).map((event) => {
    const pace = event.startsWith('update ')
      ? [
          tokensPerSecond === undefined ? '' : ` · ${count(tokensPerSecond)} tokens/s`,
          secondsLeft === undefined ? '' : ` · ${duration(secondsLeft)} left`,
        ].join('')
      : ''
    return `${timeOfDay(now)} ${progress.run}: ${event}${pace}`
  })
}
