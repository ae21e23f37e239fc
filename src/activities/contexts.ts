/**
 * Contexts: the tokens of the episodes that are being played, kept at hand.
 *
 * Invariants
 * - It is a cache over the store: a context that is not here, or not at the asked turn, is read again.
 * - It is bounded; the least recently extended contexts go first.
 */
import type { EpisodeId } from '../identity.ts'
import type { Store } from '../storage/store.ts'

/** Far above the episodes that one worker plays at once. */
const capacity = 4096

export interface Contexts {
  /** [time] all tokens before the observation of the turn. */
  at(episode: EpisodeId, turn: number): Promise<Int32Array>
  /** Remembers the context after the action of the turn. */
  extend(episode: EpisodeId, turn: number, context: Int32Array, action: Int32Array): void
}

export function createContexts(store: Pick<Store, 'actions'>): Contexts {
  const known = new Map<EpisodeId, { readonly turns: number; readonly tokens: Int32Array }>()

  return {
    async at(episode, turn) {
      if (turn === 0) return new Int32Array(0)
      const cached = known.get(episode)
      if (cached !== undefined && cached.turns === turn) return cached.tokens
      const { tokens } = await store.actions.context(episode)
      return tokens
    },

    extend(episode, turn, context, action) {
      const tokens = new Int32Array(context.length + action.length)
      tokens.set(context)
      tokens.set(action, context.length)
      known.delete(episode)
      known.set(episode, { turns: turn + 1, tokens })
      for (const oldest of known.keys()) {
        if (known.size <= capacity) break
        known.delete(oldest)
      }
    },
  }
}
