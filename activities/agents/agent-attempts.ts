/**
 * Attempts at the episodes of agents in this process, one at a time for each episode.
 *
 * Invariants
 * - [AGENT-ATTEMPT-1] A new attempt ends the one before it, which the server has given up, and begins when that has left nothing behind.
 */
import { CancelledFailure } from '@temporalio/common'
import type { EpisodeId } from '../../identity/identity.ts'

interface Attempt {
  readonly given: AbortController
  readonly ended: Promise<void>
}

export class AgentAttempts {
  readonly #latest = new Map<EpisodeId, Attempt>()

  /**
   * Plays an attempt after the one before it.
   * @param signal ends it, as a later attempt does
   * @throws CancelledFailure a later attempt has begun
   */
  async play<Result>(
    episode: EpisodeId,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    const own: Attempt = { given: new AbortController(), ended }
    const earlier = this.#latest.get(episode)
    this.#latest.set(episode, own)
    earlier?.given.abort(new CancelledFailure(`another attempt plays ${episode}`))
    try {
      await earlier?.ended
      own.given.signal.throwIfAborted()
      return await work(AbortSignal.any([signal, own.given.signal]))
    } finally {
      if (this.#latest.get(episode) === own) this.#latest.delete(episode)
      end()
    }
  }
}
