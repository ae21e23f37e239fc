/**
 * Sessions: the live environments of one worker, by episode.
 *
 * Invariants
 * - Work on one session happens strictly in sequence.
 * - A closed session is forgotten; closing it again does nothing.
 * - An abandoned session is forgotten at once, whether it can still be closed or not.
 * - A session that was not used for `idleMs` is closed: its episode has continued elsewhere.
 * - A session whose episode is over is closed within seconds, also where the episode could not close it itself.
 */
import type { Environment } from '../../envs/contract/environment.ts'
import type { EpisodeId } from '../../identity/identity.ts'
import { clock } from '../../machine/services/clock.ts'
import type { SessionQuestions } from './asked-models.ts'

export interface LiveSession {
  readonly environment: Environment
  readonly questions: SessionQuestions
  /** Actions played so far. */
  turn: number
  /** The tools as the agent last saw them, as JSON. */
  seenTools: string
}

export interface Sessions {
  get(episode: EpisodeId): LiveSession | undefined
  set(episode: EpisodeId, session: LiveSession): void
  close(episode: EpisodeId): Promise<void>
  /** Forgets a session in an unknown state; its closing is tried and not waited for. */
  abandon(episode: EpisodeId): void
  closeAll(): Promise<void>
  /** Runs the work after all earlier work on the same episode. */
  inTurn<T>(episode: EpisodeId, work: () => Promise<T>): Promise<T>
}

export interface SessionsOptions {
  /** By default longer than the slowest turn may take, with all its attempts. */
  readonly idleMs?: number
  /** Whether an episode is over; asked for sessions that were not used since the look before. */
  readonly isOver?: (episode: EpisodeId) => Promise<boolean>
  /** Milliseconds between two looks. */
  readonly lookEveryMs?: number
}

const defaultIdleMs = 30 * 60_000
const defaultLookEveryMs = 5_000

export function createSessions(options: SessionsOptions = {}): Sessions {
  const { idleMs = defaultIdleMs, isOver, lookEveryMs = defaultLookEveryMs } = options
  const live = new Map<EpisodeId, LiveSession>()
  const lastUsed = new Map<EpisodeId, number>()
  const last = new Map<EpisodeId, Promise<unknown>>()

  async function close(episode: EpisodeId): Promise<void> {
    const session = live.get(episode)
    live.delete(episode)
    lastUsed.delete(episode)
    await session?.environment.close()
  }

  function abandon(episode: EpisodeId): void {
    close(episode).catch(() => undefined)
  }

  function closeIdle(): void {
    const since = clock.monotonic() - idleMs
    for (const [episode, used] of lastUsed) if (used < since && !last.has(episode)) abandon(episode)
  }

  async function closeWhatIsOver(): Promise<void> {
    if (isOver === undefined) return
    const since = clock.monotonic() - lookEveryMs
    for (const [episode, used] of [...lastUsed])
      if (used < since && !last.has(episode) && (await isOver(episode)) && !last.has(episode))
        abandon(episode)
  }

  // A store that cannot be read now is asked again at the next look.
  const looking = clock.every(lookEveryMs, () => closeWhatIsOver().catch(() => undefined))
  looking.unref()

  return {
    get: (episode) => live.get(episode),
    set(episode, session) {
      closeIdle()
      live.set(episode, session)
      lastUsed.set(episode, clock.monotonic())
    },
    close,
    abandon,
    async closeAll() {
      looking.cancel()
      await Promise.all([...live.keys()].map(close))
    },
    async inTurn(episode, work) {
      const before = last.get(episode) ?? Promise.resolve()
      const mine = before.then(work, work)
      last.set(episode, mine)
      try {
        return await mine
      } finally {
        if (live.has(episode)) lastUsed.set(episode, clock.monotonic())
        if (last.get(episode) === mine) last.delete(episode)
      }
    },
  }
}
