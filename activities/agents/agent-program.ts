/**
 * The program of an agent, from its start in an empty folder to its end: its environment, its limits, its reward.
 *
 * Invariants
 * - Its environment is small, and has no secret but its key and what the configuration names.
 * - Time in which a turn is sampled does not count against it: a slow engine is no fault of the program.
 * - A program of an earlier attempt at the episode, which a lost worker may have left on this machine, is ended first.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { withSecrets } from '../../config/files/secrets.ts'
import type { AgentConfig } from '../../config/schema/agent-schema.ts'
import type { EpisodeId } from '../../identity/identity.ts'
import type { RewardedOutcome } from '../../learning/evaluation/outcome.ts'
import { endMarked, markedProcesses, ProcessGroup } from '../../machine/processes/process-group.ts'
import { redact } from '../../machine/secrets/secret.ts'
import { clock } from '../../machine/services/clock.ts'
import type { Message, ToolSpec } from '../../messages/message.ts'
import { RequestFault } from '../../policy/endpoint/request-fault.ts'
import type { AgentEndpoint, OpenedKey } from './agent-endpoint.ts'
import { AgentFault } from './agent-fault.ts'
import { type GivenReward, givenReward, rewardInFile } from './agent-reward.ts'
import type { AgentSession, SessionEnd } from './agent-session.ts'

/** How a program ended that is no fault. */
export type ProgramEnding =
  | { readonly kind: 'limit'; readonly outcome: RewardedOutcome }
  /** @param given undefined: the environment grades */
  | { readonly kind: 'done'; readonly given: GivenReward | undefined }

export interface ProgramOptions {
  readonly agent: AgentConfig
  /** Where the configuration has it. */
  readonly key: string
  readonly episode: EpisodeId
  readonly instance: string
  /** The first words of the environment. */
  readonly shown: { readonly messages: readonly Message[]; readonly tools: readonly ToolSpec[] }
  readonly session: AgentSession
  readonly endpoint: AgentEndpoint
  /** Folder of the home. */
  readonly home: string
  readonly log: (line: string) => void
}

/** Between two looks at a program: far below the shortest limit that is of use. */
const lookEveryMs = 250
/** Looks until the processes are counted again. */
const looksPerCount = 8

/** Variables of this process that a program has too. */
const inherited = [
  'PATH',
  'HOME',
  'USER',
  'LANG',
  'LC_ALL',
  'TZ',
  'SHELL',
  'VIRTUAL_ENV',
  'PYTHONPATH',
  'NODE_PATH',
]

export class AgentProgram {
  readonly #options: ProgramOptions
  readonly #folder: string
  readonly #opened: OpenedKey
  readonly #group: ProcessGroup
  readonly #posted: { value?: GivenReward }

  private constructor(
    options: ProgramOptions,
    parts: {
      readonly folder: string
      readonly opened: OpenedKey
      readonly group: ProcessGroup
      readonly posted: { value?: GivenReward }
    },
  ) {
    this.#options = options
    this.#folder = parts.folder
    this.#opened = parts.opened
    this.#group = parts.group
    this.#posted = parts.posted
  }

  static async start(options: ProgramOptions): Promise<AgentProgram> {
    const { agent, key, episode, instance, shown, endpoint, home } = options
    const mark = markOf(options)
    await endMarked(mark)
    const folder = join(home, 'agents', episode.replaceAll('/', '.'))
    await rm(folder, { recursive: true, force: true })
    await mkdir(folder, { recursive: true })
    const posted: { value?: GivenReward } = {}
    const opened = await endpoint.open(reachedBy(options, posted))
    const taskFile = join(folder, '.perdure-task.json')
    const prompt = shown.messages.findLast(({ role }) => role === 'user')?.content ?? ''
    await writeFile(taskFile, JSON.stringify({ instance, prompt, ...shown }))
    const own = inherited.flatMap((name) => {
      const value = process.env[name]
      return value === undefined ? [] : [[name, value] as const]
    })
    const group = new ProcessGroup({
      words: agent.command,
      cwd: folder,
      mark,
      env: {
        ...Object.fromEntries(own),
        TMPDIR: folder,
        OPENAI_BASE_URL: `${opened.root}/v1`,
        OPENAI_API_KEY: opened.key,
        ANTHROPIC_BASE_URL: opened.root,
        ANTHROPIC_API_KEY: opened.key,
        PERDURE_INSTANCE: instance,
        PERDURE_TASK_FILE: taskFile,
        PERDURE_RESULT_FILE: join(folder, '.perdure-result'),
        PERDURE_REWARD_URL: `${opened.root}/episodes/${opened.key}/reward`,
        ...withSecrets(agent.env, `${key}.env`),
      },
    })
    return new AgentProgram(options, { folder, opened, group, posted })
  }

  /** Waits for the end of the episode. @throws AgentFault, the fault of engine or store, the reason of the signal */
  async ending({
    signal,
    onProgress,
  }: {
    readonly signal: AbortSignal
    readonly onProgress: () => void
  }): Promise<ProgramEnding> {
    const { session } = this.#options
    const cancelled = Promise.withResolvers<never>()
    const onAbort = (): void => cancelled.reject(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    const watch = this.#watched(onProgress)
    try {
      const program = this.#group.ended.then((end) => ({ kind: 'program', end }) as const)
      const ended = await Promise.race([session.ended, watch.ended, program, cancelled.promise])
      if (ended.kind !== 'program') return endingOf(ended)
      // A limit, or a fault of engine or store, may be why it ended so.
      if (session.endedAs !== undefined) return endingOf(session.endedAs)
      if (!ended.end.isSuccess)
        throw new AgentFault('crashed', this.#withWords(`the agent ${ended.end.words}`))
      return { kind: 'done', given: await this.#given() }
    } finally {
      signal.removeEventListener('abort', onAbort)
      watch.stop()
    }
  }

  /** Ends it with all that it started; its key and folder are gone afterwards. */
  async end(): Promise<void> {
    this.#opened.close()
    const endedByItself = await this.#group.end()
    if (!endedByItself)
      this.#options.log(`the agent of ${this.#options.episode} ignored SIGTERM and was killed`)
    await rm(this.#folder, { recursive: true, force: true })
  }

  /** Kills it with all that it started, as a machine that is lost would. */
  async kill(): Promise<void> {
    await endMarked(markOf(this.#options))
  }

  /** The last words of what it wrote, without secrets; empty where it wrote nothing. */
  get output(): string {
    return redact(this.#group.lastWords.trim())
  }

  async #given(): Promise<GivenReward | undefined> {
    const { reward } = this.#options.agent
    if (reward === 'grader') return undefined
    if (reward === 'file') return await rewardInFile(join(this.#folder, '.perdure-result'))
    if (this.#posted.value !== undefined) return this.#posted.value
    throw new AgentFault('no_reward', 'the agent ended without a reward: post one to PERDURE_REWARD_URL')
  }

  /** Looks at the program from time to time. */
  #watched(onProgress: () => void): { readonly ended: Promise<SessionEnd>; stop(): void } {
    const { agent, session } = this.#options
    const { promise: ended, resolve } = Promise.withResolvers<SessionEnd>()
    let [ownMs, looks, turns] = [0, 0, -1]
    let lastLook = clock.monotonic()
    const fail = (kind: AgentFault['kind'], words: string) =>
      resolve({ kind: 'fault', fault: new AgentFault(kind, this.#withWords(words)) })
    const look = async (): Promise<void> => {
      const now = clock.monotonic()
      if (!session.isSampling) ownMs += now - lastLook
      lastLook = now
      if (session.progress.turns !== turns) onProgress()
      turns = session.progress.turns
      if (ownMs > agent.timeoutSeconds * 1000) resolve({ kind: 'time_limit' })
      if (session.silentMs > agent.silentSeconds * 1000)
        fail('silent', `the agent sent no request for ${agent.silentSeconds} seconds`)
      if (++looks % looksPerCount !== 0) return
      const processes = (await markedProcesses()).get(markOf(this.#options))?.length ?? 0
      // The shell that leads the group, and the one that reads the pipe, are not the program's.
      if (processes - 2 > agent.processLimit)
        fail('forks', `the agent has ${processes - 2} processes, at most ${agent.processLimit} are allowed`)
    }
    const timer = clock.every(lookEveryMs, () => void look().catch(() => undefined))
    return { ended, stop: () => timer.cancel() }
  }

  #withWords(reason: string): string {
    const words = this.output
    return words === '' ? reason : `${reason}; its last words: ${words}`
  }
}

/** Names the processes of an episode. */
function markOf({ home, episode }: Pick<ProgramOptions, 'home' | 'episode'>): string {
  return `${home} ${episode}`
}

/** The episode as the endpoint reaches it. */
function reachedBy({ agent, session }: ProgramOptions, posted: { value?: GivenReward }) {
  const megabyte = 1024 * 1024
  return {
    largestBody: agent.requestMegabytes * megabyte,
    sentTooMuch(): RequestFault {
      const words = `the agent sent a request of more than ${agent.requestMegabytes} MB`
      session.end({ kind: 'fault', fault: new AgentFault('body_limit', words) })
      return new RequestFault('too_large', words)
    },
    answer: session.answer.bind(session),
    refused: session.refused.bind(session),
    takeReward(body: unknown): void {
      if (agent.reward !== 'post')
        throw new RequestFault('bad_request', `the reward comes from the ${agent.reward}, as configured`)
      if (posted.value !== undefined)
        throw new RequestFault('ended', 'the episode has its reward: it takes one')
      try {
        posted.value = givenReward(body, 'the posted reward')
      } catch (cause) {
        if (!(cause instanceof AgentFault)) throw cause
        throw new RequestFault('bad_request', cause.message, null, { cause })
      }
    },
  }
}

const limits = {
  turn_limit: 'turn_limit',
  token_limit: 'task_limit',
  time_limit: 'task_limit',
  context_limit: 'context_limit',
} as const

/** @throws the fault */
function endingOf(ended: SessionEnd): ProgramEnding {
  if (ended.kind === 'fault') throw ended.fault
  return { kind: 'limit', outcome: limits[ended.kind] }
}
