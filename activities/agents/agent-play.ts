/**
 * The activity of an episode that an agent's own program plays: it runs the program, whose requests are the turns.
 *
 * Invariants
 * - [AGENT-PLAY-1] However it ends, the program is gone with all that it started, its key is closed and its folder deleted.
 * - [AGENT-PLAY-2] The reward is stored with the end of the episode, once: a later attempt finds it, and runs no program.
 * - [AGENT-PLAY-3] A program that crashes, falls silent, floods, forks without end or gives no reward is a fault by name, without a
 *   reward; one that reaches the limit of its turns, tokens, context or seconds has not completed.
 */
import type { VersionRule } from '../../contract/messages.ts'
import type { StepResult } from '../../envs/contract/environment.ts'
import { playAction } from '../../envs/contract/played-action.ts'
import { drawnAs, type EpisodeId, type RunId, seedOfWork } from '../../identity/identity.ts'
import type { Outcome } from '../../learning/evaluation/outcome.ts'
import { drawVersion, versionDraws } from '../../learning/rollout/cross-policy.ts'
import type { JsonObject } from '../../messages/message.ts'
import { StorageFault } from '../../storage/disk/fault.ts'
import type { Home } from '../../storage/disk/home.ts'
import type { Store } from '../../storage/store.ts'
import type { StoredAction } from '../../storage/trajectories/actions.ts'
import { outputKey } from '../../storage/trajectories/observations.ts'
import { failing } from '../calls/failure.ts'
import { reportProgress } from '../calls/wrapping.ts'
import type { AskedModels } from '../play/asked-models.ts'
import { callInProgress } from '../play/call-in-progress.ts'
import type { Serving } from '../play/serving.ts'
import { instanceOf, type Opening, observationOf } from '../play/session-replay.ts'
import type { OpenRuns } from '../stored/open-runs.ts'
import { AgentAttempts } from './agent-attempts.ts'
import { createAgentEndpoint } from './agent-endpoint.ts'
import { AgentFault } from './agent-fault.ts'
import { AgentProgram, type ProgramEnding } from './agent-program.ts'
import { AgentSession, type TurnDraw } from './agent-session.ts'

/** An episode, and how its turns are drawn. */
export interface AgentRequest extends Opening {
  readonly seed: number
  readonly versions: VersionRule
  readonly temperature: number
  readonly maxTokens: number
  readonly attemptsDrawAlike?: boolean
}

/** How the program has played. */
export interface AgentResult {
  readonly outcome: Outcome
  readonly reward: number
  readonly turns: number
}

interface Dependencies {
  readonly home: Home
  readonly store: Store
  readonly runs: OpenRuns
  readonly serving: Serving
  readonly models: AskedModels
  readonly log: (line: string) => void
}

export type AgentActivities = Pick<ReturnType<typeof createAgentActivities>, 'runAgent'>

export function createAgentActivities(dependencies: Dependencies) {
  const { store, runs, serving, models } = dependencies
  const endpoint = createAgentEndpoint()
  const attempts = new AgentAttempts()

  /** The end that an earlier attempt has stored, or that a sealing has. */
  async function foundEnd(episode: EpisodeId): Promise<AgentResult | undefined> {
    const seal = (await store.episodes.get(episode))?.seal
    if (seal !== undefined) return { outcome: seal.outcome, reward: 0, turns: seal.turns }
    const turns = (await store.actions.list(episode)).length
    const last = await store.observations.get(episode, turns)
    return last?.done === true ? resultOf(last, turns) : undefined
  }

  async function played(request: AgentRequest, signal: AbortSignal, attempt: number): Promise<AgentResult> {
    const { episode, run, taskIndex } = request
    const found = await foundEnd(episode)
    if (found !== undefined) return found
    const { config, task: open } = await runs.get(run)
    const agent = config.tasks[taskIndex]?.agent
    if (agent === undefined) throw new RangeError(`tasks.${taskIndex} of ${run} has no agent`)
    const instance = await instanceOf({ store, runs }, request)
    const questions = models.of(request)
    await using opened = new AsyncDisposableStack()
    const { task } = await open(taskIndex)
    const environment = opened.adopt(await task.create(questions.ask), (each) => each.close())
    const first = await questions.during(0, () => environment.reset(instance))
    const { turnLimit, tokenLimit } = agent
    const { contextLength } = config.policy
    const session = await AgentSession.open({
      ...{ episode, run, store, serving, attempt },
      encoder: await serving.encoder(run),
      limits: { turnLimit, tokenLimit, contextLength, maxTokens: request.maxTokens },
      temperature: request.temperature,
      draw: drawsOf(request, store),
    })
    const program = await AgentProgram.start({
      ...{ agent, key: `tasks.${taskIndex}.agent`, episode, instance, session, endpoint },
      shown: { messages: first.messages, tools: environment.tools },
      home: dependencies.home.dir,
      log: dependencies.log,
    })
    let ending: ProgramEnding
    try {
      ending = await program.ending({ signal, onProgress: () => reportProgress(session.progress) })
    } finally {
      await program.end()
      await session.close()
    }
    const { turns } = session.progress
    const live = { environment, questions, turn: turns, seenTools: JSON.stringify(environment.tools) }
    const grade = (answer: StoredAction) => questions.during(turns, () => playAction(environment, answer))
    const step = await lastStep(ending, session, grade)
    const said: JsonObject = program.output === '' ? {} : { [outputKey]: program.output }
    const last = observationOf(episode, live, { ...step, info: { ...step.info, ...said } })
    await store.observations.put(last)
    return resultOf((await store.observations.get(episode, turns)) ?? last, turns)
  }

  const activities = {
    runAgent(request: AgentRequest): Promise<AgentResult> {
      const { signal, attempt } = callInProgress()
      return attempts.play(request.episode, signal, (wanted) => played(request, wanted, attempt))
    },
  }
  return { ...failing(activities), closeAgents: endpoint.close }
}

function resultOf(
  { reward, outcome = 'completed' }: { readonly reward: number; readonly outcome?: Outcome },
  turns: number,
): AgentResult {
  return { reward, outcome, turns }
}

/** The end of the episode as a step of its environment. @throws AgentFault */
export async function lastStep(
  ending: ProgramEnding,
  session: AgentSession,
  grade: (answer: StoredAction) => Promise<StepResult>,
): Promise<StepResult> {
  if (session.progress.turns === 0) throw neverAsked()
  if (ending.kind === 'limit')
    return { messages: [], info: {}, reward: 0, done: true, outcome: ending.outcome }
  if (ending.given !== undefined) return { messages: [], info: {}, done: true, ...ending.given }
  const answer = session.lastAction
  if (answer === undefined) throw neverAsked()
  const step = await grade(answer)
  // An answer that could not be graded is the last one all the same.
  return { ...step, done: true, outcome: step.outcome ?? 'invalid_action' }
}

function neverAsked(): AgentFault {
  return new AgentFault('no_turns', 'the agent ended before it asked the policy once')
}

/** Version and seed of each turn by its branch and its place in the conversation. */
function drawsOf(request: AgentRequest, store: Pick<Store, 'runs'>): TurnDraw {
  const { episode, run, seed, versions, attemptsDrawAlike } = request
  const drawing = drawnAs(episode, attemptsDrawAlike === true)
  return async (branch, at) => {
    const ofTurn = branch === 0 ? seedOfWork(seed, drawing, at) : seedOfWork(seed, drawing, at, branch)
    if (versions.kind === 'fixed') return { version: versions.version, exactVersion: true, seed: ofTurn }
    const draw = versionDraws(seed, drawing)
    for (let before = 0; before < at; before++) draw()
    const drawn = drawVersion(Number.POSITIVE_INFINITY, versions, draw())
    const exactVersion = Number.isFinite(drawn)
    return { version: exactVersion ? drawn : await currentVersion(store, run), exactVersion, seed: ofTurn }
  }
}

async function currentVersion(store: Pick<Store, 'runs'>, run: RunId): Promise<number> {
  const version = await store.runs.version(run)
  if (version === undefined) throw new StorageFault('missing', `run ${run} has not published a version yet`)
  return version
}
