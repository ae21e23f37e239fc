/** The choice of the figure that colours tokens, and the legend of the colours. */
import type { FunctionComponent } from 'preact'
import { versionsOf } from '../../../../learning/run/version-spans.ts'
import { plain } from '../../../../learning/statistics/figures.ts'
import { advantageSpan, type TrajectoryAnswer, type TrajectoryLearnt } from '../../../contract/trajectory.ts'
import { choose } from '../../navigation.ts'
import { signedText } from '../../parts/badge.tsx'
import { Choice } from '../../parts/choice.tsx'
import {
  advantageTint,
  type Colouring,
  colourings,
  colouringTexts,
  fullEntropy,
  fullRatio,
} from './colouring.ts'
import { withoutLesson } from './token-facts.tsx'

interface BarProps {
  readonly trajectory: TrajectoryAnswer
  readonly colouring: Colouring
}

export const ColourBar: FunctionComponent<BarProps> = ({ trajectory, colouring }) => (
  <div class="colour-bar">
    <span class="quiet small">Tokens by</span>
    <Choice
      label="Colour tokens by"
      options={colourings.map((name) => ({ name, text: colouringTexts[name] }))}
      chosen={colouring}
      onChoose={(name) => choose({ colour: name })}
    />
    <Meaning trajectory={trajectory} colouring={colouring} />
    <span class="keys quiet small">
      <kbd>j</kbd> <kbd>k</kbd> turns, <kbd>←</kbd> <kbd>→</kbd> tokens, <kbd>c</kbd> colours, <kbd>[</kbd>{' '}
      <kbd>]</kbd> samples
    </span>
  </div>
)

const Meaning: FunctionComponent<BarProps> = ({ trajectory, colouring }) => {
  const { learnt, turns } = trajectory
  switch (colouring) {
    case 'none':
      return null
    case 'logprob':
      return (
        <span class="scale small" aria-hidden="true">
          p = 1 <i class="ramp" style={{ '--swatch': 'var(--series-1)' }} /> p ≤ 0.05
        </span>
      )
    case 'ratio':
    case 'entropy':
      if (learnt?.found === undefined)
        return (
          <span class="quiet small">
            {learnt === undefined
              ? withoutLesson(trajectory)
              : 'Its update’s trainer has not written them, or they are no longer kept.'}
          </span>
        )
      return colouring === 'ratio' ? <RatioScale /> : <EntropyScale />
    case 'version': {
      const versions = [
        ...new Set(turns.flatMap(({ action }) => (action === undefined ? [] : versionsOf(action)))),
      ]
      return (
        <span class="scale small">
          {versions.map((version) => (
            <span key={version}>
              <i class="swatch" style={{ '--swatch': `var(--series-${version % 10})` }} /> v{version}
            </span>
          ))}
        </span>
      )
    }
    case 'advantage':
    case 'update':
      if (learnt === undefined) return <span class="quiet small">{withoutLesson(trajectory)}</span>
      return colouring === 'advantage' ? (
        <AdvantageScale learnt={learnt} />
      ) : (
        <span class="scale small">
          <i class="swatch" style={{ '--swatch': `var(--series-${learnt.update % 10})` }} /> update{' '}
          {learnt.update}
        </span>
      )
  }
}

const RatioScale: FunctionComponent = () => (
  <span class="scale small" aria-hidden="true">
    <span>
      <i class="swatch" style={{ '--swatch': 'var(--lost)' }} /> r ≤ {plain(1 / fullRatio)}
    </span>
    <span>none: r = 1</span>
    <span>
      <i class="swatch" style={{ '--swatch': 'var(--won)' }} /> r ≥ {plain(fullRatio)}
    </span>
  </span>
)

const EntropyScale: FunctionComponent = () => (
  <span class="scale small" aria-hidden="true">
    0 nats <i class="ramp" style={{ '--swatch': 'var(--series-1)' }} /> ≥ {fullEntropy} nats
  </span>
)

/** One advantage, or the least and the largest where turns have their own. */
const AdvantageScale: FunctionComponent<{ learnt: TrajectoryLearnt }> = ({ learnt }) => {
  const [least, largest] = advantageSpan(learnt)
  const swatch = (advantage: number) => (
    <i class="swatch" style={{ '--swatch': advantageTint(advantage).colour }} />
  )
  return (
    <span class="scale small">
      {least === largest ? (
        <span>
          {swatch(least)} A = {signedText(least)} on every token
        </span>
      ) : (
        <span>
          {swatch(least)} A = {signedText(least)} to {swatch(largest)} {signedText(largest)}, by turn
        </span>
      )}
    </span>
  )
}
