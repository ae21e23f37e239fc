/**
 * Environment activities: opening, stepping and closing the session of an episode.
 *
 * Invariants
 * - A step is played once: its result is stored under (episode, turn), and a second attempt finds it.
 * - A session that was lost is opened again by playing the recorded actions, where the task is replayable;
 *   a session whose step failed or hung counts as lost, because nobody knows how far the step came.
 * - An action that could not be read is answered to the agent and counted, and never reaches the task.
 */
import { Context } from '@temporalio/activity'
import { actionSummary } from '../envs/action-summary.ts'
import { EnvironmentFault, type Message, type StepResult } from '../envs/environment.ts'
import type { EpisodeId, RunId } from '../identity.ts'
import { instanceOrder } from '../learning/instance-order.ts'
import type { Outcome } from '../learning/outcome.ts'
import type { StoredAction } from '../storage/actions.ts'
import type { StoredObservation } from '../storage/observations.ts'
import type { Store } from '../storage/store.ts'
import { failing } from './failure.ts'
import type { OpenRuns } from './open-runs.ts'
import { createSessions, type LiveSession } from './sessions.ts'

/** Which instance an episode plays. */
export interface Opening {
  readonly episode: EpisodeId
  readonly run: RunId
  readonly taskIndex: number
  readonly split: string
  /** Position in the shuffled order of the split. */
  readonly position: number
}

export interface EnvironmentSession {
  readonly turnLimit: number
  /** How the episode ended, where it has: then it has no session. */
  readonly sealedAs?: Outcome
}

export interface TurnResult {
  readonly reward: number
  /** Null while the episode goes on. */
  readonly outcome: Outcome | null
  readonly invalid: boolean
  /** The action in a few words. */
  readonly summary: string
}

interface Dependencies {
  readonly store: Store
  readonly runs: OpenRuns
}

/** Longer than any step of a healthy environment, and below the limit of the activity. */
const defaultStepTimeoutSeconds = 120

export type EnvironmentActivities = ReturnType<typeof createEnvironmentActivities>

export function createEnvironmentActivities({ store, runs }: Dependencies) {
  const sessions = createSessions({
    isOver: async (episode) => (await store.episodes.get(episode))?.seal !== undefined,
  })

  /** The session at the given turn: the live one, or a new one that plays the recorded actions. */
  async function sessionAt(opening: Opening, turn: number): Promise<LiveSession> {
    const live = sessions.get(opening.episode)
    if (live !== undefined && live.turn === turn) return live
    await sessions.close(opening.episode)
    const { definition, task } = await (await runs.get(opening.run)).task(opening.taskIndex)
    if (turn > 0 && !definition.replayable)
      throw new EnvironmentFault(
        'not_replayable',
        `the session of ${opening.episode} is gone and ${definition.name} cannot be replayed: ${definition.replayableBecause}`,
      )
    const session: LiveSession = {
      environment: await task.create(),
      patienceMs: 1000 * (definition.stepTimeoutSeconds ?? defaultStepTimeoutSeconds),
      turn: 0,
      toldTools: '',
    }
    sessions.set(opening.episode, session)
    await orLost(opening.episode, () => playRecorded(session, opening, turn))
    return session
  }

  /** Work on a session, which is lost when the work fails; what hangs is not waited for. */
  async function orLost<T>(episode: EpisodeId, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      sessions.abandon(episode)
      throw error
    }
  }

  async function playRecorded(session: LiveSession, opening: Opening, turn: number): Promise<void> {
    const { episode } = opening
    const instance = await instanceOf(opening)
    const first = await withinPatience(session, 'reset', () => session.environment.reset(instance))
    await keep(stored(episode, session, { ...first, reward: 0, done: false }), 'observation 0')
    while (session.turn < turn) {
      const action = await actionAt(episode, session.turn)
      const step = await play(session, action)
      session.turn += 1
      await keep(stored(episode, session, step), `observation ${session.turn}`)
    }
  }

  async function instanceOf(opening: Opening): Promise<string> {
    const known = await store.episodes.get(opening.episode)
    if (known !== undefined) return known.instance
    const { task, definition } = await (await runs.get(opening.run)).task(opening.taskIndex)
    const split = task.splits.find(({ name }) => name === opening.split)
    if (split === undefined)
      throw new EnvironmentFault(
        'unknown_split',
        `${definition.name} has no split "${opening.split}"; it has: ${task.splits.map(({ name }) => name).join(', ')}`,
      )
    const instance = task.instanceAt(split.name, instanceOrder(split.size, opening.position))
    await store.episodes.insert({
      id: opening.episode,
      task: definition.name,
      instance,
      created: Date.now(),
    })
    return instance
  }

  /** Stores an observation; one that is there already must say the same, or the replay has gone astray. */
  async function keep(observation: StoredObservation, what: string): Promise<void> {
    if ((await store.observations.put(observation)) === 'first') return
    const before = await store.observations.get(observation.episode, observation.turn)
    if (JSON.stringify(before?.messages) !== JSON.stringify(observation.messages))
      throw new EnvironmentFault(
        'not_replayable',
        `replaying ${observation.episode} gave another ${what} than was recorded; the episode cannot go on`,
      )
  }

  async function actionAt(episode: EpisodeId, turn: number): Promise<StoredAction> {
    const action = await store.actions.get(episode, turn)
    if (action === undefined)
      throw new EnvironmentFault('backend', `action ${turn} of ${episode} is not stored yet`)
    return action
  }

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
        sessionAt(opening, Math.min(turns, Math.max(0, observations.length - 1))),
      )
      return { turnLimit: definition.turnLimit }
    },

    /** Plays the stored action of a turn. */
    async stepEnvironment(request: Opening & { readonly turn: number }): Promise<TurnResult> {
      const { episode, turn } = request
      return sessions.inTurn(episode, async () => {
        const action = await actionAt(episode, turn)
        const before = await store.observations.get(episode, turn + 1)
        if (before !== undefined) return resultOf(action, before)
        const session = await sessionAt(request, turn)
        const step = await orLost(episode, () => play(session, action))
        session.turn += 1
        const observation = stored(episode, session, step)
        await store.observations.put(observation)
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

/** One step; an action that could not be read is answered in the place of the task. */
async function play(session: LiveSession, action: StoredAction): Promise<StepResult> {
  const [problem] = action.problems
  if (problem === undefined)
    return withinPatience(session, 'step', () => session.environment.step(action.message))
  const content = problemSentence(problem)
  const message: Message = { role: 'tool', name: 'error', content }
  return { messages: [message], info: { problem: content }, reward: 0, done: false, invalid: true }
}

/**
 * Waits for an environment as long as its task allows, and no longer than somebody wants the answer.
 * @throws EnvironmentFault `session_lost`, CancelledFailure
 */
async function withinPatience<T>(
  { patienceMs }: LiveSession,
  what: string,
  work: () => Promise<T>,
): Promise<T> {
  const { cancellationSignal } = Context.current()
  const { promise: givenUp, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    const message = `the environment did not answer a ${what} within ${patienceMs / 1000} s; its session is given up`
    reject(new EnvironmentFault('session_lost', message))
  }, patienceMs)
  const onCancel = () => {
    // A worker that shuts down lets the step end.
    if (cancellationSignal.reason.message !== 'WORKER_SHUTDOWN') reject(cancellationSignal.reason)
  }
  if (cancellationSignal.aborted) onCancel()
  cancellationSignal.addEventListener('abort', onCancel, { once: true })
  try {
    return await Promise.race([work(), givenUp])
  } finally {
    clearTimeout(timer)
    cancellationSignal.removeEventListener('abort', onCancel)
  }
}

function problemSentence(problem: unknown): string {
  return typeof problem === 'object' && problem !== null && 'sentence' in problem
    ? String(problem.sentence)
    : 'The action could not be read; call one tool with a JSON object of arguments.'
}

/** The observation of the session's turn; the tools go with it when the agent has not been told of them. */
function stored(episode: EpisodeId, session: LiveSession, step: StepResult): StoredObservation {
  const { messages, reward, done, outcome, invalid } = step
  const { tools } = session.environment
  const told = JSON.stringify(tools)
  const changed = told !== session.toldTools
  session.toldTools = told
  return {
    episode,
    turn: session.turn,
    messages,
    reward,
    done,
    info: invalid === true ? { ...step.info, invalid } : step.info,
    ...(outcome === undefined ? {} : { outcome }),
    ...(changed ? { tools } : {}),
  }
}

function resultOf(action: StoredAction, observation: StoredObservation): TurnResult {
  return {
    reward: observation.reward,
    outcome: observation.done ? (observation.outcome ?? 'completed') : null,
    invalid: observation.info.invalid === true,
    summary: actionSummary(action.message),
  }
}
