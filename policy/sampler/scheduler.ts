/**
 * The choice of the next computation: pure rules over numbers.
 *
 * Invariants
 * - Work that is ready is done after a bounded number of other steps, however large the others are.
 * - Background work is done while nothing else is ready; otherwise it gets one step in some twenty at most.
 * - Larger steps come before smaller ones of the same age; prefill before decode, so that batches fill.
 * - A prefill step takes the slot that waits longest, mixes no chunks of very unequal length and stays
 *   within its budget of padded tokens (a single chunk may pass it).
 */

/** A step that could run now. */
export interface Offer {
  readonly kind: 'prefill' | 'decode'
  /** Rows that would take part. */
  readonly rows: number
  /** Steps of others since it could first run or last ran. */
  readonly age: number
  /** It yields to those that do not. */
  readonly background?: boolean
}

/** Rows that a prefilling row counts for: it joins every decode step to come. */
const prefillWeight = 3
/** Rows that a step of waiting counts for: a single row overtakes a full batch of 64 after 16 steps. */
const agingWeight = 4

/** Steps of other work for each step of background work, while both are ready. */
const stepsPerBackground = 20

/**
 * The offer to take: the largest, with age counted as size; the first of equals. Background offers take turns
 * among themselves, the oldest first, each time that others have had their steps.
 */
export function chooseOffer<Kind extends Offer>(offers: readonly Kind[]): Kind | undefined {
  const others = offers.filter(({ background }) => background !== true)
  if (others.length === 0) return largest(offers)
  const background = offers.filter((offer) => offer.background === true)
  const [oldest] = background.toSorted((a, b) => b.age - a.age)
  // With k of them each waits k times as long, so that together they get no more than one alone.
  return oldest !== undefined && oldest.age >= stepsPerBackground * background.length
    ? oldest
    : largest(others)
}

function largest<Kind extends Offer>(offers: readonly Kind[]): Kind | undefined {
  let best: Kind | undefined
  let bestScore = -1
  for (const offer of offers) {
    const score = offer.rows * (offer.kind === 'prefill' ? prefillWeight : 1) + offer.age * agingWeight
    if (score > bestScore) {
      best = offer
      bestScore = score
    }
  }
  return best
}

/** A slot that waits for prefill. */
export interface PendingPrefill {
  readonly slot: number
  /** Tokens still to be fed. */
  readonly tokens: number
  /** Nothing of its context is in the slot yet. */
  readonly fresh: boolean
}

export interface PrefillLimits {
  /** Tokens of one row in one step. */
  readonly chunk: number
  /** Rows × longest chunk of one step, before the step rounds the chunk up to whole blocks. */
  readonly padded: number
}

/** The slots of the next prefill step, all fresh or none, and the tokens that each feeds. */
export interface PrefillGroup {
  readonly fresh: boolean
  readonly slots: readonly { readonly slot: number; readonly tokens: number }[]
}

/** Chunks of one step differ from the oldest one's by this factor at most. */
const likeness = 2

/**
 * Groups slots for one prefill step: the oldest slot, and those of its kind with chunks of like length.
 * @param pending in the order of admission, the oldest first
 * @throws RangeError nothing is pending
 */
export function planPrefill(pending: readonly PendingPrefill[], limits: PrefillLimits): PrefillGroup {
  const [oldest] = pending
  if (oldest === undefined) throw new RangeError('no slot waits for prefill')
  const anchor = Math.min(oldest.tokens, limits.chunk)
  const slots: { readonly slot: number; readonly tokens: number }[] = []
  let longest = anchor
  for (const { slot, tokens, fresh } of pending) {
    const chunk = Math.min(tokens, limits.chunk)
    if (fresh !== oldest.fresh || chunk > anchor * likeness || chunk * likeness < anchor) continue
    const padded = Math.max(longest, chunk) * (slots.length + 1)
    if (slots.length > 0 && padded > limits.padded) continue
    longest = Math.max(longest, chunk)
    slots.push({ slot, tokens: chunk })
  }
  return { fresh: oldest.fresh, slots }
}
