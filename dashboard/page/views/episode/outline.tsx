/**
 * The outline of a trajectory: a line for each turn, with how long its action was, whether it was of use, and as a timeline
 * what it took to be sampled and to be answered.
 */
import type { FunctionComponent } from 'preact'
import { plain } from '../../../../learning/statistics/figures.ts'
import { actionSummary } from '../../../../messages/action-summary.ts'
import type { TrajectoryAnswer } from '../../../contract/trajectory.ts'
import { choiceAddress } from '../../navigation.ts'
import { visible } from '../../parts/visible.ts'
import { secondsOf, secondsText, type TurnSeconds, turnSeconds } from './turn-seconds.ts'
import { type TreeLine, treeLines } from './turn-tree.ts'

interface OutlineProps {
  readonly trajectory: TrajectoryAnswer
  readonly current: number
}

export const Outline: FunctionComponent<OutlineProps> = ({ trajectory, current }) => {
  const { turns, ending } = trajectory
  const longest = Math.max(1, ...turns.map(({ action }) => action?.sampled.ids.length ?? 0))
  const seconds = turnSeconds(trajectory)
  const slowest = Math.max(0, ...seconds.map((each) => secondsOf(each) ?? 0))
  return (
    <nav class="outline" aria-label="Turns">
      <Whole seconds={seconds} />
      <ol>
        {treeLines(turns).map((line) => (
          <Line
            key={line.turn.turn}
            line={line}
            // The observation after an action has its reward.
            earned={(turns[line.turn.turn + 1]?.observation ?? ending)?.reward ?? 0}
            longest={longest}
            seconds={seconds[line.turn.turn]}
            slowest={slowest}
            isCurrent={line.turn.turn === current}
          />
        ))}
      </ol>
    </nav>
  )
}

/** The time of all turns; it explains the colours of the timeline. */
const Whole: FunctionComponent<{ seconds: readonly TurnSeconds[] }> = ({ seconds }) => {
  if (seconds.every((each) => secondsOf(each) === undefined)) return null
  const sum = (part: keyof TurnSeconds) => seconds.reduce((total, each) => total + (each[part] ?? 0), 0)
  return (
    <p class="scale small whole-seconds">
      <span>
        <i class="swatch sampling" /> sampling {secondsText(sum('sampling'))}
      </span>
      <span>
        <i class="swatch step" /> environment {secondsText(sum('step'))}
      </span>
    </p>
  )
}

interface LineProps {
  readonly line: TreeLine
  readonly earned: number
  readonly longest: number
  readonly seconds: TurnSeconds | undefined
  /** The time of the turn that took longest. */
  readonly slowest: number
  readonly isCurrent: boolean
}

const Line: FunctionComponent<LineProps> = ({ line, earned, longest, seconds, slowest, isCurrent }) => {
  const { turn, action } = line.turn
  const length = action?.sampled.ids.length ?? 0
  const note =
    action === undefined
      ? 'playing'
      : action.invalid
        ? 'invalid'
        : action.finish === 'length'
          ? 'cut off'
          : ''
  return (
    <li class={line.depth > 0 ? 'in-branch' : ''} style={{ marginLeft: `${14 * line.depth}px` }}>
      {line.begins === undefined ? null : (
        <span class="branch-begins small quiet">
          branch {line.begins.branch}
          {line.begins.after < 0 ? '' : ` after turn ${line.begins.after}`}
        </span>
      )}
      <a
        href={choiceAddress({ turn: String(turn), token: '' })}
        aria-current={isCurrent ? 'step' : undefined}
      >
        <span class="number">{turn}</span>
        <span class="what">{action === undefined ? '…' : visible(actionSummary(action.message))}</span>
        {note === '' ? null : <span class="badge mixed">{note}</span>}
        {earned === 0 ? null : <span class={`badge ${earned > 0 ? 'won' : 'lost'}`}>{plain(earned)}</span>}
        <span class="length" title={`${length} tokens`} style={{ width: `${(100 * length) / longest}%` }} />
        {seconds === undefined ? null : <TimeStrip seconds={seconds} slowest={slowest} />}
      </a>
    </li>
  )
}

/** The two parts of a turn's time, as shares of the slowest turn's. */
const TimeStrip: FunctionComponent<{ seconds: TurnSeconds; slowest: number }> = ({ seconds, slowest }) => {
  if (secondsOf(seconds) === undefined || slowest === 0) return null
  const { sampling = 0, step = 0 } = seconds
  const share = (part: number) => `${(100 * part) / slowest}%`
  return (
    <span class="took" title={`sampled in ${secondsText(sampling)}, answered in ${secondsText(step)}`}>
      <i class="sampling" style={{ width: share(sampling) }} />
      <i class="step" style={{ width: share(step) }} />
    </span>
  )
}
