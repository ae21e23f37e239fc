/**
 * Colourings: what the colour of a token tells.
 *
 * Invariants
 * - [COLOURING-1] Strength is in [0, 1] for every figure that a token may have, and 0 where there is none.
 * - A colour never is the only bearer of a fact: the token's page has the figure.
 */

import { versionAt } from '../../../../learning/run/version-spans.ts'
import { advantageAt, type TrajectoryLearnt } from '../../../contract/trajectory.ts'
import { foundOf, type PlacedToken } from './placed-tokens.ts'

export const colourings = ['advantage', 'logprob', 'ratio', 'entropy', 'version', 'update', 'none'] as const
export type Colouring = (typeof colourings)[number]

export const colouringTexts: Readonly<Record<Colouring, string>> = {
  advantage: 'Advantage',
  logprob: 'Log-probability',
  ratio: 'Ratio',
  entropy: 'Entropy',
  version: 'Version',
  update: 'Update',
  none: 'No colours',
}

/** A colour of the style sheet, and how strong it is. */
export interface Tint {
  readonly colour: string
  /** In [0, 1]. */
  readonly strength: number
}

const noTint: Tint = { colour: 'var(--ink)', strength: 0 }

/** Entropy that counts as full, in nats: as of seven tokens that are equally likely. */
export const fullEntropy = 2
/** Factor by which a ratio that counts as full differs from 1. */
export const fullRatio = 1.5

/** The one that an address names; the first where it names none. */
export function colouringNamed(name: string | undefined): Colouring {
  return colourings.find((each) => each === name) ?? 'logprob'
}

export function tintOf(
  colouring: Colouring,
  token: Omit<PlacedToken, 'position' | 'id' | 'text'>,
  learnt: TrajectoryLearnt | undefined,
): Tint {
  const { logprob, action, turn, index, isSampled } = token
  if (!isSampled) return noTint
  switch (colouring) {
    case 'advantage':
      return learnt === undefined ? noTint : advantageTint(advantageAt(learnt, turn, index))
    case 'logprob':
      return { colour: 'var(--series-1)', strength: surprise(logprob) }
    case 'ratio':
      return ratioTint(foundOf(learnt, token).ratio)
    case 'entropy':
      return {
        colour: 'var(--series-1)',
        strength: shareOf(foundOf(learnt, token).entropy / fullEntropy),
      }
    case 'version':
      return { colour: `var(--series-${Math.abs(versionAt(action, index)) % 10})`, strength: 0.5 }
    case 'update':
      return learnt === undefined ? noTint : { colour: `var(--series-${learnt.update % 10})`, strength: 0.5 }
    case 'none':
      return noTint
  }
}

/** Green where the update made the token more likely, red where less; full at two deviations. */
export function advantageTint(advantage: number): Tint {
  if (!Number.isFinite(advantage) || advantage === 0) return noTint
  const colour = advantage > 0 ? 'var(--won)' : 'var(--lost)'
  return { colour, strength: Math.min(1, Math.abs(advantage) / 2) }
}

/** Green where the token had become more likely since it was sampled, red where less. */
export function ratioTint(ratio: number): Tint {
  if (!(ratio > 0) || ratio === 1) return noTint
  return {
    colour: ratio > 1 ? 'var(--won)' : 'var(--lost)',
    strength: shareOf(Math.abs(Math.log(ratio)) / Math.log(fullRatio)),
  }
}

/** How unlikely the token was: 0 at probability 1, 1 at e⁻³ (5 %) and below. */
function surprise(logprob: number): number {
  return shareOf(-logprob / 3)
}

function shareOf(figure: number): number {
  return Number.isNaN(figure) ? 0 : Math.min(1, Math.max(0, figure))
}
