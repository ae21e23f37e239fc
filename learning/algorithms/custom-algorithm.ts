/**
 * An algorithm of a user, in the place of one that comes with Perdure.
 *
 * Invariants
 * - [CUSTOM-ALGORITHM-1] Its results are finite numbers of the right count, or they are refused by name and never learnt from: an entry
 *   for each episode, turn or token that it gives advantages to, a loss with its derivative for each token, and a rejection or none of a step.
 * - [CUSTOM-ALGORITHM-2] It gets copies: what it writes to them changes nothing.
 */
import type { TokenLoss } from '../loss/objective.ts'
import type {
  Algorithm,
  ComparedEpisode,
  ComparedGroup,
  EpisodeAdvantage,
  LossToken,
  Rejection,
  SequenceLoss,
  TurnAdvantage,
} from './algorithm.ts'
import { lossName } from './algorithms.ts'

/**
 * The algorithm with copies going in and checks of what comes out. A loss that comes with Perdure stays that loss.
 * @param run calls its code, and gives what that throws a name
 */
export function checkedAlgorithm(own: Algorithm, run: <T>(call: () => T) => T): Algorithm {
  const { loss } = own
  return {
    name: own.name,
    advantagesOf: (groups, settings) =>
      run(() =>
        checkedAdvantages(own.advantagesOf(structuredClone(groups), structuredClone(settings)), groups),
      ),
    normalizesBatch: own.normalizesBatch === true,
    readsEarlier: own.readsEarlier === true,
    smoothsEntropy: own.smoothsEntropy === true,
    loss: lossName({ loss }) === undefined ? checkedLoss(loss, run) : loss,
    ...(own.valueTargetsOf === undefined
      ? {}
      : {
          valueTargetsOf: (episode, settings) =>
            run(() =>
              checkedTargets(own.valueTargetsOf?.(structuredClone(episode), { ...settings }), episode),
            ),
        }),
    ...(own.rejects === undefined
      ? {}
      : { rejects: (step) => run(() => checkedVerdict(own.rejects?.(structuredClone(step)))) }),
  }
}

/** @throws RangeError */
function checkedVerdict(found: unknown): Rejection {
  if (typeof found === 'boolean' || found === 'rest') return found
  throw new RangeError(`${String(found)} from \`rejects\`, expected true, false or "rest"`)
}

function checkedLoss(own: SequenceLoss, run: <T>(call: () => T) => T): SequenceLoss {
  return {
    readsReference: own.readsReference === true,
    lossesOf: (tokens, settings) =>
      run(() => {
        const copies = tokens.map((token) => ({ ...token }))
        return checkedLosses(own.lossesOf(copies, { ...settings }), tokens)
      }),
  }
}

/** @throws RangeError a result with other lengths, or a value that is not finite */
function checkedAdvantages(found: unknown, groups: readonly ComparedGroup[]): EpisodeAdvantage[][] {
  return listOf(found, groups.length, 'advantages', 'group').map((ofGroup, index) => {
    const { task, episodes } = groups[index] as ComparedGroup
    const group = `group ${index}, of ${task}`
    return listOf(ofGroup, episodes.length, `advantages for ${group}`, 'episode').map(
      (advantage, sample): EpisodeAdvantage => {
        const of = `episode ${sample} of ${group}`
        if (!Array.isArray(advantage)) return finite(advantage, of)
        const turns = episodes[sample]?.turns ?? []
        return listOf(advantage, turns.length, `advantages for ${of}`, 'turn').map(
          (ofTurn, turn): TurnAdvantage => {
            if (!Array.isArray(ofTurn)) return finite(ofTurn, of)
            const { actionTokens = 0 } = turns[turn] ?? {}
            const tokens = listOf(
              ofTurn,
              actionTokens,
              `advantages for turn ${turn} of ${of}`,
              'action token',
            )
            return tokens.map((ofToken) => finite(ofToken, of))
          },
        )
      },
    )
  })
}

/** @throws RangeError */
function checkedTargets(found: unknown, { turns }: ComparedEpisode): readonly number[] {
  return listOf(found, turns.length, 'value targets', 'turn').map((target, turn) => {
    if (isNumber(target)) return target
    throw new RangeError(`the value target ${String(target)} for turn ${turn}, expected a finite number`)
  })
}

/** @throws RangeError another number of results, or a value that is not finite */
function checkedLosses(found: unknown, tokens: readonly LossToken[]): TokenLoss[] {
  return listOf(found, tokens.length, 'losses', 'token').map((result, place) => {
    const { loss, derivative, clipped } = (result ?? {}) as Readonly<Record<string, unknown>>
    if (isNumber(loss) && isNumber(derivative)) return { loss, derivative, clipped: clipped === true }
    throw new RangeError(
      `the loss ${String(loss)} with the derivative ${String(derivative)} at ${JSON.stringify(tokens[place])}, expected finite numbers`,
    )
  })
}

function listOf(found: unknown, length: number, things: string, each: string): readonly unknown[] {
  if (Array.isArray(found) && found.length === length) return found
  const given = Array.isArray(found) ? `${found.length} ${things}` : `${typeof found} as ${things}`
  throw new RangeError(`${given}, expected a list of ${length}, one for each ${each}`)
}

function finite(advantage: unknown, of: string): number {
  if (isNumber(advantage)) return advantage
  throw new RangeError(`the advantage ${String(advantage)} for ${of}, expected a finite number`)
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}
