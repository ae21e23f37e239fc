/**
 * A custom advantage, in the place of a group advantage that comes with Perdure.
 *
 * Invariants
 * - [CUSTOM-ADVANTAGE-1] Its result has one entry for each episode, a finite number for all of its turns or one for each of
 *   them; anything else is refused by name, and never learnt from.
 * - [CUSTOM-ADVANTAGE-2] It gets a copy: what it writes to it changes nothing.
 */

/** A turn of an episode, as a custom advantage sees it. */
export interface AdvantageTurn {
  /** The environment's reward for it. */
  readonly reward: number
  /** Tokens that the policy sampled. */
  readonly actionTokens: number
  /** The exact state that it began in, where the environment names it. */
  readonly state?: string
}

/** An episode of a group. */
export interface AdvantageEpisode {
  /** The reward that learning compares: the environment's, or the penalty for not completing. */
  readonly reward: number
  readonly completed: boolean
  readonly actionTokens: number
  readonly turns: readonly AdvantageTurn[]
}

/** Episodes of one instance, which are compared with one another. */
export interface AdvantageGroup {
  readonly task: string
  /** [group] */
  readonly episodes: readonly AdvantageEpisode[]
}

/** A pure function of a group's episodes: no time, randomness or I/O, so that an update that is done again has the same bytes. */
export interface CustomAdvantage {
  readonly name: string
  /** @returns [group] of every action token of the episode, or [group][turns] */
  advantagesOf(group: AdvantageGroup): readonly (number | readonly number[])[]
}

/** A custom advantage whose results are checked: [group] one number, or [turns]. */
export type CheckedAdvantage = (group: AdvantageGroup) => readonly (readonly number[])[]

/**
 * The advantages that a custom module gives a group.
 * @returns [group] one number, or [turns]
 * @throws RangeError a result with other lengths, or a value that is not finite
 */
export function customAdvantages(
  own: CustomAdvantage,
  group: AdvantageGroup,
): readonly (readonly number[])[] {
  const found: unknown = own.advantagesOf(structuredClone(group))
  const { episodes } = group
  if (!Array.isArray(found) || found.length !== episodes.length)
    throw new RangeError(
      `${Array.isArray(found) ? `${found.length} advantages` : typeof found}, expected a list of ${episodes.length}, one for each episode`,
    )
  return episodes.map(({ turns }, sample) => {
    const own: unknown = found[sample]
    if (Array.isArray(own) && own.length !== turns.length)
      throw new RangeError(
        `${own.length} advantages for episode ${sample}, expected one, or one for each of its ${turns.length} turns`,
      )
    return (Array.isArray(own) ? own : [own]).map((advantage: unknown) => {
      if (typeof advantage === 'number' && Number.isFinite(advantage)) return advantage
      throw new RangeError(
        `the advantage ${String(advantage)} for episode ${sample}, expected a finite number`,
      )
    })
  })
}
