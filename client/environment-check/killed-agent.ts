/**
 * An agent's own program that is killed at every turn: items of `perdure env check --agent`.
 *
 * Invariants
 * - [KILLED-AGENT-1] The program is killed with all that it started when a turn is stored, before it is answered, and is started again:
 *   the turns that were stored have to be asked for again, byte for byte.
 * - It plays as in training, with the session, the endpoint and the engine of a run; only the policy may be one that knows nothing.
 * - Nothing is left: its home is a temporary folder.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type AgentEndpoint, createAgentEndpoint } from '../../activities/agents/agent-endpoint.ts'
import { lastStep } from '../../activities/agents/agent-play.ts'
import { AgentProgram } from '../../activities/agents/agent-program.ts'
import { AgentSession } from '../../activities/agents/agent-session.ts'
import { firstCheckpoint } from '../../activities/warm-start/first-checkpoint.ts'
import { resolveConfig } from '../../config/files/loader.ts'
import type { AgentConfig } from '../../config/schema/agent-schema.ts'
import type { RunConfig } from '../../config/schema/schema.ts'
import type { EnvironmentDefinition, Task } from '../../envs/contract/environment.ts'
import { playAction } from '../../envs/contract/played-action.ts'
import { episodeId, groupId, runId, seedOf } from '../../identity/identity.ts'
import { outlinePretrained } from '../../policy/checkpoints/pretrained.ts'
import { createEmbeddedEngine } from '../../policy/embedded-engine/embedded.ts'
import { openPromptEncoder, type PromptEncoder } from '../../policy/endpoint/prompt-encoder.ts'
import type { Engine } from '../../policy/engines/engine.ts'
import { openStore, type Store } from '../../storage/store.ts'
import type { StoredAction } from '../../storage/trajectories/actions.ts'
import { checkAgent } from '../checks/agent-check.ts'
import { BrokenPromise, type CheckItem } from './broken-promise.ts'

/** The program, and what answers it. */
export interface CheckedAgent {
  readonly definition: EnvironmentDefinition
  readonly command: readonly string[]
  readonly reward: AgentConfig['reward']
  /** Folder of a checkpoint; untrained weights without it. */
  readonly policy?: string | undefined
}

/** An episode that it played. */
interface Played {
  readonly reward: number
  readonly outcome: string
  readonly actions: readonly StoredAction[]
  /** Turns that were sampled, not given again. */
  readonly sampled: number
}

const run = runId('check')
/** Conversations of agents begin with long instructions. */
const mostContext = 16_384

/** Plays the task with its program. */
export interface KilledAgent extends AsyncDisposable {
  /** The first item, which has to be kept before the others can be tried. */
  readonly undisturbed: CheckItem
  /** The item of each turn. @throws what the first item throws */
  turns(): Promise<readonly CheckItem[]>
}

/** @throws ConfigFault for a program that cannot play the task, CheckpointFault */
export async function openKilledAgent(task: Task, checked: CheckedAgent): Promise<KilledAgent> {
  const config = await configOf(checked)
  const [{ agent } = {}] = config.tasks
  if (agent === undefined) throw new RangeError('there is no agent')
  await using opening = new AsyncDisposableStack()
  const home = opening.adopt(await mkdtemp(join(tmpdir(), 'perdure-check-')), (folder) =>
    rm(folder, { recursive: true, force: true }),
  )
  const checkpoint = join(home, 'policy')
  await firstCheckpoint(checkpoint, config, [], () => undefined)
  const store = opening.adopt(await openStore(join(home, 'store.db')), (each) => each.close())
  const { threads, contextLength } = config.policy
  const engine = opening.adopt(await createEmbeddedEngine({ threads, contextLength, maxBatch: 8 }), (each) =>
    each.close(),
  )
  await engine.load(0, checkpoint)
  const endpoint = opening.adopt(createAgentEndpoint(), (each) => each.close())
  const encoder = await openPromptEncoder(checkpoint)
  const stage = {
    ...{ task, config, agent, home, store, engine, endpoint, encoder },
    instance: instanceOf(task),
  }
  let first: Promise<Played> | undefined
  const played = () => (first ??= playedThrough(stage))
  const opened = opening.move()
  return {
    undisturbed: [
      'its agent plays to an end',
      async () => {
        const { actions, reward, outcome } = await played()
        const branches = new Set(actions.map(({ asked }) => asked?.branch)).size
        return `${stage.instance}: ${actions.length} turns in ${branches} branches, ${outcome}, reward ${reward}`
      },
    ],
    async turns() {
      const { actions } = await played()
      return actions.map(({ turn }) => [
        `its agent, killed at turn ${turn}, continues`,
        async () => repeated(turn, await played(), await playedThrough(stage, turn)),
      ])
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

/** @throws ConfigFault */
async function configOf({ definition, command, reward, policy: from }: CheckedAgent): Promise<RunConfig> {
  const window = from === undefined ? mostContext : await windowOf(from)
  const config = resolveConfig({
    tasks: [{ task: definition.name, agent: { command: [...command], reward } }],
    policy: { contextLength: Math.min(window, mostContext), ...(from === undefined ? {} : { from }) },
    warmStart: { demonstrations: 0 },
    evaluation: { suites: [] },
  })
  for (const [index, task] of config.tasks.entries()) checkAgent(index, task, definition)
  return config
}

async function windowOf(folder: string): Promise<number> {
  return (await outlinePretrained(folder)).architecture.max_position_embeddings
}

function instanceOf(task: Task): string {
  return task.instanceAt(task.splits[0]?.name ?? '', 0)
}

/** The parts that every play uses. */
interface Stage {
  readonly task: Task
  readonly config: RunConfig
  readonly agent: AgentConfig
  readonly home: string
  readonly store: Store
  readonly engine: Engine
  readonly endpoint: AgentEndpoint
  readonly encoder: PromptEncoder
  readonly instance: string
}

/** Plays an episode. @param killedAt the turn after whose storing the program is killed once @throws what ends the episode */
async function playedThrough(stage: Stage, killedAt?: number): Promise<Played> {
  const { store, instance, config } = stage
  const episode = episodeId(groupId(run, 0), killedAt === undefined ? 0 : killedAt + 1, 0)
  const [{ task } = { task: '' }] = config.tasks
  await store.episodes.insert({ id: episode, task, instance, created: 0 })
  if (killedAt !== undefined) {
    const ended = await attempt(stage, { episode, number: 1, killedAt }).catch((error: unknown) => error)
    if ((await store.actions.list(episode)).length <= killedAt)
      throw new BrokenPromise(`it ended before turn ${killedAt} when it was started again`, { cause: ended })
  }
  return await attempt(stage, { episode, number: 2 })
}

/** One start of the program. */
async function attempt(
  { task, agent, config, home, store, engine, endpoint, encoder, instance }: Stage,
  {
    episode,
    number,
    killedAt,
  }: { readonly episode: ReturnType<typeof episodeId>; readonly number: number; readonly killedAt?: number },
): Promise<Played> {
  const { contextLength } = config.policy
  const { temperature, maxTokensPerTurn: maxTokens } = config.rollout
  const { turnLimit, tokenLimit } = agent
  let sampled = 0
  await using opened = new AsyncDisposableStack()
  const environment = opened.adopt(await task.create(), (each) => each.close())
  const first = await environment.reset(instance)
  const put: Store['actions']['put'] = async (action, took) => {
    const result = await store.actions.put(action, took)
    if (action.turn === killedAt) await program.kill()
    return result
  }
  const session = await AgentSession.open({
    ...{ episode, run, encoder, temperature, attempt: number },
    store: { observations: store.observations, actions: { ...store.actions, put } },
    serving: {
      sample(_, request, signal) {
        sampled += 1
        return engine.sample(request, signal)
      },
      release: (_, key) => engine.release(key),
    },
    limits: { turnLimit, tokenLimit, contextLength, maxTokens },
    // Those of every play: what the program is answered differs by what it asks alone.
    draw: async (branch, turn) => ({ version: 0, exactVersion: true, seed: seedOf(branch, turn) }),
  })
  opened.defer(() => session.close())
  const program = await AgentProgram.start({
    ...{ agent, key: 'tasks.0.agent', episode, instance, session, endpoint, home },
    shown: { messages: first.messages, tools: environment.tools },
    log: () => undefined,
  })
  opened.defer(() => program.end())
  const { signal } = new AbortController()
  const ending = await program.ending({ signal, onProgress: () => undefined })
  const step = await lastStep(ending, session, (answer) => playAction(environment, answer))
  const actions = await store.actions.list(episode)
  return { reward: step.reward, outcome: step.outcome ?? 'completed', actions, sampled }
}

/** @throws BrokenPromise where the same turns gave another reward */
function repeated(turn: number, undisturbed: Played, { actions, reward, sampled }: Played): string {
  const given = actions.length - sampled
  const isSame = isDeepStrictEqual(actions.map(wordsOf), undisturbed.actions.map(wordsOf))
  if (!isSame) return `${given} turns given again, then others than without the kill`
  if (reward !== undisturbed.reward)
    throw new BrokenPromise(
      `killed at turn ${turn} it has the reward ${reward}, and else ${undisturbed.reward}`,
    )
  return `${given} turns given again, ${sampled} sampled, as without the kill`
}

function wordsOf({ prompt, tokens, asked }: StoredAction): unknown {
  return { prompt, tokens, branch: asked?.branch, follows: asked?.follows }
}
