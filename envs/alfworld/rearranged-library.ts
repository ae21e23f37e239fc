/**
 * Games without an end: those of a folder again and again, each time in another home, so that a policy learns to read homes, and not
 * the few of the folder by heart.
 *
 * Invariants
 * - [ENDLESS-1] An id that the split gives can be opened, and is the same game each time.
 * - Each window of as many instances as `train` has is all of its games.
 * - The other splits are untouched.
 */
import { seedOf } from '../../identity/identity.ts'
import { instanceOrder } from '../../learning/rollout/instance-order.ts'
import type { GameSource } from '../../worlds/text-adventure/game.ts'
import type { Library } from '../contract/library.ts'
import { Draw } from '../generated/draw.ts'
import { inEngine } from './engine.ts'
import { rearranged } from './rearranged-home.ts'

/** The split whose games are rearranged. */
const original = 'train'
/** The split that has them. */
const endless = 'rearranged'
/** Its ids: the game's without its split, and the round. */
const ids = new RegExp(`^${endless}(/.+)/(?:0|-?[1-9]\\d{0,12})$`)

/**
 * The library with a split more, `rearranged`, whose ids are `rearranged/<task>/<trial>/<round>`.
 * @param share of its games that are in another home, from 0 to 1; the others are as in `train`. 0: there is no such split
 */
export function withRearranged(library: Library<GameSource>, share: number): Library<GameSource> {
  const size = library.splits.find(({ name }) => name === original)?.size ?? 0
  if (share === 0 || size === 0) return library
  return {
    ...library,
    splits: [...library.splits, { name: endless, size: Number.POSITIVE_INFINITY }],
    instanceAt(split, index) {
      if (split !== endless) return library.instanceAt(split, index)
      const round = Math.floor(index / size)
      const game = library.instanceAt(original, instanceOrder(size, index - round * size))
      return `${endless}${game.slice(original.length)}/${round}`
    },
    open(instance) {
      const [, game] = ids.exec(instance) ?? []
      if (game === undefined) return library.open(instance)
      const source = { ...library.open(`${original}${game}`), id: instance }
      const draw = new Draw(seedOf(0, instance))
      return draw.chance(share) ? inEngine(() => rearranged(source, draw)) : source
    },
  }
}
