/**
 * Session replay: brings the session of an episode to a turn, also in a process that never had the session.
 *
 * Invariants
 * - A session that was lost is opened again by playing the recorded actions, where the task is replayable;
 *   a session whose step failed or hung counts as lost, because it is unknown how far the step came.
 * - A replay that differs from the recorded observations ends the episode.
 */
import { EnvironmentFault, type StepResult } from '../../envs/contract/environment.ts'
import { playAction } from '../../envs/contract/played-action.ts'
import type { EpisodeId, RunId } from '../../identity/identity.ts'
import { instanceOrder } from '../../learning/rollout/instance-order.ts'
import { clock } from '../../machine/services/clock.ts'
import { StorageFault } from '../../storage/disk/fault.ts'
import type { Store } from '../../storage/store.ts'
import type { StoredAction } from '../../storage/trajectories/actions.ts'
import { metricsKey, type StoredObservation, stateKey } from '../../storage/trajectories/observations.ts'
import type { TurnTime } from '../../storage/trajectories/turn-time.ts'
import type { OpenRuns } from '../stored/open-runs.ts'
import type { AskedModels } from './asked-models.ts'
import { timed, unlessCancelled } from './call-in-progress.ts'
import type { LiveSession, Sessions } from './sessions.ts'

/** Which instance an episode plays. */
export interface Opening {
  readonly episode: EpisodeId
  readonly run: RunId
  readonly taskIndex: number
  readonly split: string
  /** Position in the shuffled order of the split. */
  readonly position: number
}

interface Dependencies {
  readonly store: Store
  readonly runs: OpenRuns
  readonly sessions: Sessions
  readonly models: AskedModels
}

/**
 * The session at the given turn: the live one, or a new one that plays the recorded actions.
 * @throws EnvironmentFault `not_replayable`, `unknown_split`
 */
export async function sessionAt(
  { store, runs, sessions, models }: Dependencies,
  opening: Opening,
  turn: number,
): Promise<LiveSession> {
  const live = sessions.get(opening.episode)
  if (live !== undefined && live.turn === turn) return live
  await sessions.close(opening.episode)
  const { definition, task } = await (await runs.get(opening.run)).task(opening.taskIndex)
  if (turn > 0 && !definition.replayable)
    throw new EnvironmentFault(
      'not_replayable',
      `the session of ${opening.episode} is gone and ${definition.name} cannot be replayed: ${definition.replayableBecause}`,
    )
  const questions = models.of(opening)
  const environment = await task.create(questions.ask)
  const session: LiveSession = { environment, questions, turn: 0, seenTools: '' }
  sessions.set(opening.episode, session)
  await orLost(sessions, opening.episode, async () =>
    playRecorded({ store, session }, opening.episode, {
      instance: await instanceOf({ store, runs }, opening),
      turn,
    }),
  )
  return session
}

/** Does work on a session, which is lost when the work fails; work that hangs is not waited for. */
export async function orLost<T>(sessions: Sessions, episode: EpisodeId, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    sessions.abandon(episode)
    throw error
  }
}

/** Begins the instance, and plays the recorded actions of the episode up to the turn. */
async function playRecorded(
  { store, session }: { readonly store: Store; readonly session: LiveSession },
  episode: EpisodeId,
  { instance, turn }: { readonly instance: string; readonly turn: number },
): Promise<void> {
  const { environment, questions } = session
  const { result: first, took } = await timed(() =>
    questions.during(0, () => unlessCancelled(() => environment.reset(instance))),
  )
  const begin = observationOf(episode, session, { ...first, reward: 0, done: false })
  await keep(store, begin, { what: 'observation 0', took })
  while (session.turn < turn) {
    const action = await actionAt(store, episode, session.turn)
    const { result: step, took } = await stepOf(session, action)
    session.turn += 1
    const observation = observationOf(episode, session, step)
    await keep(store, observation, { what: `observation ${session.turn}`, took })
  }
}

/** Plays an action at the session's turn. @throws AskedModelFault, EnvironmentFault */
export function stepOf({ environment, questions, turn }: LiveSession, action: StoredAction) {
  return timed(() => questions.during(turn + 1, () => unlessCancelled(() => playAction(environment, action))))
}

/** The instance of an episode, which is recorded at its first opening. */
export async function instanceOf(
  { store, runs }: Pick<Dependencies, 'store' | 'runs'>,
  opening: Opening,
): Promise<string> {
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
    created: clock.now(),
  })
  return instance
}

/** Stores an observation; a stored one must be equal, or the replay has diverged. */
async function keep(
  store: Store,
  observation: StoredObservation,
  { what, took }: { readonly what: string; readonly took: TurnTime },
): Promise<void> {
  if ((await store.observations.put(observation, took)) === 'first') return
  const before = await store.observations.get(observation.episode, observation.turn)
  if (JSON.stringify(before?.messages) !== JSON.stringify(observation.messages))
    throw new EnvironmentFault(
      'not_replayable',
      `replaying ${observation.episode} gave another ${what} than was recorded; the episode cannot go on`,
    )
}

/** @throws StorageFault `missing`: an action is stored before its turn is played, so the store is older than the episode */
export async function actionAt(store: Store, episode: EpisodeId, turn: number): Promise<StoredAction> {
  const action = await store.actions.get(episode, turn)
  if (action === undefined)
    throw new StorageFault(
      'missing',
      `action ${turn} of ${episode} is not in the store; the episode is played again`,
    )
  return action
}

/** The observation of the session's turn; the tools go with it when the agent has not seen them. */
export function observationOf(episode: EpisodeId, session: LiveSession, step: StepResult): StoredObservation {
  const { messages, reward, done, outcome, invalid, state, metrics } = step
  const { tools } = session.environment
  const seen = JSON.stringify(tools)
  const changed = seen !== session.seenTools
  session.seenTools = seen
  return {
    episode,
    turn: session.turn,
    messages,
    reward,
    done,
    info: {
      ...step.info,
      ...(invalid === true ? { invalid } : {}),
      ...(state === undefined ? {} : { [stateKey]: state }),
      ...(metrics === undefined ? {} : { [metricsKey]: metrics }),
    },
    ...(outcome === undefined ? {} : { outcome }),
    ...(changed ? { tools } : {}),
  }
}
