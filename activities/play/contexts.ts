/**
 * Contexts: the tokens of the episodes in progress, in memory.
 *
 * Invariants
 * - They are a cache over the store: a context that is missing, or at another turn, is read again.
 * - The cache is bounded; the least recently extended contexts go first.
 */
import type { EpisodeId } from '../../identity/identity.ts'
import { grownContext } from '../../policy/chat/grown-context.ts'
import type { Store } from '../../storage/store.ts'
import type { EpisodeContext } from '../../storage/trajectories/actions.ts'

/** Far above the episodes that one worker plays at once. */
const capacity = 4096

export interface Contexts {
  /** All tokens before the observation of the turn. */
  at(episode: EpisodeId, turn: number): Promise<EpisodeContext>
  /** Remembers the context after the action of the turn. @param context what the action was sampled after */
  extend(episode: EpisodeId, turn: number, context: EpisodeContext, action: Int32Array): void
}

export function createContexts(store: Pick<Store, 'actions'>): Contexts {
  const known = new Map<EpisodeId, EpisodeContext & { readonly turns: number }>()

  return {
    async at(episode, turn) {
      if (turn === 0) return { tokens: new Int32Array(0), borders: [] }
      const cached = known.get(episode)
      return cached !== undefined && cached.turns === turn ? cached : await store.actions.context(episode)
    },

    extend(episode, turn, context, action) {
      const tokens = grownContext(context.tokens, action)
      known.delete(episode)
      known.set(episode, { turns: turn + 1, tokens, borders: [...context.borders, context.tokens.length] })
      for (const oldest of known.keys()) {
        if (known.size <= capacity) break
        known.delete(oldest)
      }
    },
  }
}
