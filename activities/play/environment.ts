/**
 * Environment activities: opening, stepping and closing the session of an episode.
 *
 * Invariants
 * - A step is played once: its result is stored under (episode, turn), and a second attempt finds it.
 * - An episode that is sealed has no session: opening it says how it ended.
 */
import type { EpisodeId } from '../../identity/identity.ts'
import type { Outcome } from '../../learning/evaluation/outcome.ts'
import { actionSummary } from '../../messages/action-summary.ts'
import type { Store } from '../../storage/store.ts'
import type { StoredAction } from '../../storage/trajectories/actions.ts'
import type { StoredObservation } from '../../storage/trajectories/observations.ts'
import { failing } from '../calls/failure.ts'
import type { OpenRuns } from '../stored/open-runs.ts'
import type { AskedModels } from './asked-models.ts'
import { actionAt, type Opening, observationOf, orLost, sessionAt, stepOf } from './session-replay.ts'
import { createSessions } from './sessions.ts'

export interface EnvironmentSession {
  readonly turnLimit: number
  /** How the episode ended, where it has: then it has no session. */
  readonly sealedAs?: Outcome
}

export interface TurnResult {
  readonly reward: number
  /** Null while the episode is in progress. */
  readonly outcome: Outcome | null
  readonly invalid: boolean
  /** The action in a few words. */
  readonly summary: string
}

interface Dependencies {
  readonly store: Store
  readonly runs: OpenRuns
  readonly models: AskedModels
}

export type EnvironmentActivities = ReturnType<typeof createEnvironmentActivities>

export function createEnvironmentActivities({ store, runs, models }: Dependencies) {
  const sessions = createSessions({
    isOver: async (episode) => (await store.episodes.get(episode))?.seal !== undefined,
  })
  const dependencies = { store, runs, sessions, models }
  const activities = {
    /** Opens the session at the last recorded turn; opening twice finds it. */
    async openEnvironment(opening: Opening): Promise<EnvironmentSession> {
      const { definition } = await (await runs.get(opening.run)).task(opening.taskIndex)
      const known = await store.episodes.get(opening.episode)
      if (known?.seal !== undefined) {
        await sessions.inTurn(opening.episode, () => sessions.close(opening.episode))
        return { turnLimit: definition.turnLimit, sealedAs: known.seal.outcome }
      }
      const { turns } = await store.actions.context(opening.episode)
      const observations = await store.observations.list(opening.episode)
      await sessions.inTurn(opening.episode, () =>
        sessionAt(dependencies, opening, Math.min(turns, Math.max(0, observations.length - 1))),
      )
      return { turnLimit: definition.turnLimit }
    },

    /** Plays the stored action of a turn. */
    async stepEnvironment(request: Opening & { readonly turn: number }): Promise<TurnResult> {
      const { episode, turn } = request
      return sessions.inTurn(episode, async () => {
        const action = await actionAt(store, episode, turn)
        const before = await store.observations.get(episode, turn + 1)
        if (before !== undefined) return resultOf(action, before)
        const session = await sessionAt(dependencies, request, turn)
        const { result: step, took } = await orLost(sessions, episode, () => stepOf(session, action))
        session.turn += 1
        const observation = observationOf(episode, session, step)
        await store.observations.put(observation, took)
        return resultOf(action, observation)
      })
    },

    /** Closes the session, where there is one. */
    async closeEnvironment({ episode }: { readonly episode: EpisodeId }): Promise<void> {
      await sessions.inTurn(episode, () => sessions.close(episode))
    },
  }
  return { ...failing(activities), closeSessions: sessions.closeAll }
}

function resultOf(action: StoredAction, observation: StoredObservation): TurnResult {
  return {
    reward: observation.reward,
    outcome: observation.done ? (observation.outcome ?? 'completed') : null,
    invalid: observation.info.invalid === true,
    summary: actionSummary(action.message),
  }
}
