/**
 * The tokens of a turn, each of which can be looked at: those of its action, and folded those that were read before it.
 *
 * Invariants
 * - Every token is reached by keyboard: the strip is one stop, arrows lead from token to token.
 * - Line breaks and control characters are seen as signs.
 */
import type { FunctionComponent } from 'preact'
import { useState } from 'preact/hooks'
import { count, plain } from '../../../../learning/statistics/figures.ts'
import type { TrajectoryAction, TrajectoryLearnt } from '../../../contract/trajectory.ts'
import { choose } from '../../navigation.ts'
import { visible } from '../../parts/visible.ts'
import { type Colouring, tintOf } from './colouring.ts'
import { type PlacedToken, readTokensOf, sampledTokensOf } from './placed-tokens.ts'

/** More of what was read is never put into the document at once: a browser lays it out for seconds. */
const mostRead = 4000

interface StripProps {
  readonly turn: number
  readonly action: TrajectoryAction
  readonly learnt: TrajectoryLearnt | undefined
  readonly hasTexts: boolean
  readonly colouring: Colouring
  readonly chosen: number | undefined
}

export const TokenStrip: FunctionComponent<StripProps> = ({ turn, action, ...rest }) => (
  <Strip tokens={sampledTokensOf(turn, action)} label={`Tokens of turn ${turn}`} {...rest} />
)

/** The tokens that the policy read before the action, opened by a click or by a link to one of them. */
export const ReadTokens: FunctionComponent<StripProps> = ({ turn, action, chosen, ...rest }) => {
  const { begin, prompt } = action
  const isNamed = chosen !== undefined && chosen < begin + prompt.ids.length
  const [isOpen, setOpen] = useState(false)
  if (prompt.ids.length === 0) return null
  return (
    <details
      class="read-tokens small"
      open={isOpen || isNamed}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>{count(prompt.ids.length)} tokens read before</summary>
      {isOpen || isNamed ? (
        <Strip
          tokens={readTokensOf(turn, action).slice(0, mostRead)}
          label={`Tokens read before turn ${turn}`}
          chosen={chosen}
          {...rest}
        />
      ) : null}
      {prompt.ids.length > mostRead ? (
        <p class="quiet">The page shows the first {count(mostRead)} tokens.</p>
      ) : null}
    </details>
  )
}

interface RowProps extends Omit<StripProps, 'turn' | 'action'> {
  readonly tokens: readonly PlacedToken[]
  readonly label: string
}

const Strip: FunctionComponent<RowProps> = ({ tokens, label, learnt, hasTexts, colouring, chosen }) => {
  const named = tokens.some(({ position }) => position === chosen) ? chosen : undefined
  const stop = named ?? tokens[0]?.position
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset cannot flow as text does
    <div class="tokens" role="group" aria-label={label} onKeyDown={moveFocus}>
      {tokens.map((token) => (
        <Token
          key={token.position}
          token={token}
          hasTexts={hasTexts}
          tint={tintOf(colouring, token, learnt)}
          isChosen={token.position === chosen}
          isStop={token.position === stop}
        />
      ))}
    </div>
  )
}

interface TokenProps {
  readonly token: PlacedToken
  readonly hasTexts: boolean
  readonly tint: ReturnType<typeof tintOf>
  readonly isChosen: boolean
  readonly isStop: boolean
}

const Token: FunctionComponent<TokenProps> = ({ token, hasTexts, tint, isChosen, isStop }) => {
  const { position, turn, id, text, logprob, isSampled } = token
  const shown = hasTexts ? tokenText(text) : `#${id}`
  return (
    <button
      type="button"
      class="token"
      aria-pressed={isChosen}
      tabIndex={isStop ? 0 : -1}
      title={isSampled ? `logprob ${plain(logprob)}` : `id ${id}`}
      style={{ '--tint': tint.colour, '--strength': `${Math.round(tint.strength * 60)}%` }}
      onClick={() => choose({ turn: String(turn), token: String(position) })}
    >
      {shown}
    </button>
  )
}

/** A token as it is shown: what would not be seen has a sign. @example tokenText('\n') // '↵' */
export function tokenText(text: string): string {
  return text === ''
    ? '·'
    : visible(text.replaceAll('\n', '↵').replaceAll('\t', '⇥').replaceAll(' ', '\u00a0'))
}

/** Arrows lead to the neighbour, in the strip and beyond its end. */
function moveFocus(event: KeyboardEvent): void {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
  if (step === undefined || !(event.target instanceof HTMLElement)) return
  // Folded tokens cannot be reached.
  const all = [...document.querySelectorAll<HTMLElement>('.token')].filter((each) => each.checkVisibility())
  const next = all[all.indexOf(event.target) + step]
  if (next === undefined) return
  event.preventDefault()
  next.focus()
  next.click()
}
