/**
 * Agent session: answers the requests of an agent's program, which are the turns of one episode.
 *
 * Invariants
 * - [AGENT-SESSION-1] A turn is stored before it is answered, in one row with the bytes of its answer; an equal request after a restart
 *   gets these bytes, and nothing is sampled.
 * - [AGENT-SESSION-2] The context of a turn is the stored tokens of the turns before it; only new messages are rendered, and an answer
 *   that was sampled is never tokenized again.
 * - [AGENT-SESSION-3] Temperature and version are those of the training, whatever the request says, so the log-probabilities are those
 *   that the update compares with.
 * - [AGENT-SESSION-4] A failure of the engine or the store ends the attempt, never the episode: it becomes no reward.
 * - Turns get their numbers in the order in which they are stored, without a gap.
 */
import { createHash } from 'node:crypto'
import { agentBranchKey, type EpisodeId, type RunId, yieldsToTraining } from '../../identity/identity.ts'
import { clock } from '../../machine/services/clock.ts'
import type { AssistantMessage, Message, ToolSpec } from '../../messages/message.ts'
import { grownContext } from '../../policy/chat/chat.ts'
import type { Asked, Wish } from '../../policy/endpoint/asked.ts'
import type { FormRequest } from '../../policy/endpoint/endpoint.ts'
import { encodeMessages, encodePrompt, type PromptEncoder } from '../../policy/endpoint/prompt-encoder.ts'
import { RequestFault } from '../../policy/endpoint/request-fault.ts'
import type { SampledTokens } from '../../policy/engines/engine.ts'
import { ChatFault } from '../../policy/templates/template.ts'
import type { Store } from '../../storage/store.ts'
import type { StoredAction } from '../../storage/trajectories/actions.ts'
import type { TurnTime } from '../../storage/trajectories/turn-time.ts'
import type { Serving } from '../play/serving.ts'
import { AgentFault } from './agent-fault.ts'
import { type AgentLimits, tooLong, within } from './agent-limits.ts'
import { contextOf, noTools, treeTurn } from './agent-turns.ts'
import { type TreePlace, type TreeTurn, TurnTree } from './turn-tree.ts'

/** Why the session takes no more requests. */
export type SessionEnd =
  | { readonly kind: 'turn_limit' | 'token_limit' | 'context_limit' | 'time_limit' }
  | { readonly kind: 'fault'; readonly fault: unknown }

/** The version and the seed that a turn is drawn with. */
export type TurnDraw = (
  branch: number,
  turn: number,
) => Promise<{
  readonly version: number
  /** Whether no other version may take its place. */
  readonly exactVersion: boolean
  readonly seed: number
}>

export interface AgentSessionOptions {
  readonly episode: EpisodeId
  readonly run: RunId
  readonly store: Pick<Store, 'actions' | 'observations'>
  readonly serving: Pick<Serving, 'sample' | 'release'>
  readonly encoder: PromptEncoder
  readonly limits: AgentLimits
  readonly temperature: number
  readonly draw: TurnDraw
  /** Which try of the activity it is, from 1 on. */
  readonly attempt: number
}

/** Requests that are refused in a row, after which the program does not get on. */
const mostRefused = 50

/** A turn that is being sampled. */
interface PlacedTurn {
  readonly follows: TreeTurn | undefined
  readonly branch: number
  /** How many turns of the conversation are before it. */
  readonly at: number
  readonly messages: readonly Message[]
  readonly tools: readonly ToolSpec[] | undefined
  readonly toolsText: string
  readonly context: Int32Array
  readonly borders: readonly number[]
  readonly prompt: Int32Array
  readonly maxTokens: number
  readonly stopTokens: readonly number[]
}

export class AgentSession {
  readonly #options: AgentSessionOptions
  readonly #tree: TurnTree
  readonly #ended = Promise.withResolvers<SessionEnd>()
  #end: SessionEnd | undefined
  #isClosed = false
  #inProgress = 0
  #tokens = 0
  #refused = 0
  #lastHeard = clock.monotonic()
  #storing: Promise<unknown> = Promise.resolve()
  #lastAction: StoredAction | undefined

  private constructor(options: AgentSessionOptions, recorded: readonly TreeTurn[]) {
    this.#options = options
    this.#tree = new TurnTree(recorded)
    this.#tokens = recorded.reduce((sum, { prompt, tokens }) => sum + prompt.length + tokens.length, 0)
  }

  /** Reads what an earlier attempt has stored. @throws StorageFault */
  static async open(options: AgentSessionOptions): Promise<AgentSession> {
    const { episode, store, encoder } = options
    const actions = await store.actions.list(episode)
    // An attempt that ended between the two writes of a turn left its first one.
    await store.observations.remove(episode, actions.length)
    const observations = await store.observations.list(episode)
    const recorded: TreeTurn[] = []
    for (const action of actions) {
      const { messages = [], tools } = observations[action.turn] ?? {}
      const before = recorded[action.asked?.follows ?? -1]?.tools
      const toolsText = tools === undefined ? (before ?? noTools) : JSON.stringify(tools)
      recorded.push(treeTurn(action, { messages, toolsText, encoder }))
    }
    return new AgentSession(options, recorded)
  }

  /** Settles when it ends the episode. */
  get ended(): Promise<SessionEnd> {
    return this.#ended.promise
  }

  /** Why it has ended the episode; undefined: it has not. */
  get endedAs(): SessionEnd | undefined {
    return this.#end
  }

  get progress(): { readonly turns: number; readonly branches: number; readonly tokens: number } {
    return { turns: this.#tree.turns, branches: this.#tree.branches, tokens: this.#tokens }
  }

  /** The turn whose answer the program got last. */
  get lastAction(): StoredAction | undefined {
    return this.#lastAction
  }

  /** Milliseconds since the last request, or 0 while one is being answered. */
  get silentMs(): number {
    return this.#inProgress > 0 ? 0 : clock.monotonic() - this.#lastHeard
  }

  get isSampling(): boolean {
    return this.#inProgress > 0
  }

  /** Ends the session; only the first end counts. */
  end(end: SessionEnd): void {
    this.#end ??= end
    this.#ended.resolve(this.#end)
  }

  /** Takes no more requests; waits for the turn that is being stored, and gives back what the engine keeps of the episode. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#storing
    const { run, episode, serving } = this.#options
    for (let branch = 0; branch < this.#tree.branches; branch++)
      serving.release(run, agentBranchKey(episode, branch))
  }

  /** @returns the body of the answer @throws RequestFault */
  async answer(request: FormRequest): Promise<string> {
    this.#inProgress += 1
    this.#lastHeard = clock.monotonic()
    try {
      return await this.#answer(request)
    } catch (error) {
      if (error instanceof RequestFault) this.refused(error)
      else if (!request.signal.aborted) this.end({ kind: 'fault', fault: error })
      throw error
    } finally {
      this.#inProgress -= 1
      this.#lastHeard = clock.monotonic()
    }
  }

  /** Counts a request that was refused; too many in a row end the episode. */
  refused({ kind, message }: RequestFault): void {
    this.#refused += 1
    if (this.#refused < mostRefused) return
    if (kind === 'too_long') this.end({ kind: 'context_limit' })
    else {
      const words = `the agent sent ${mostRefused} requests in a row that were refused; the last one: ${message}`
      this.end({ kind: 'fault', fault: new AgentFault('flood', words) })
    }
  }

  async #answer(request: FormRequest): Promise<string> {
    const { asked, form } = request
    if (this.#isOver) throw this.#over()
    const { wish } = asked
    if (wish === undefined) return this.#count(request)
    const digest = digestOf(form.path, request.isStreamed, asked)
    const recorded = this.#tree.repeat(digest)
    if (recorded !== undefined) {
      this.#lastAction = await this.#options.store.actions.get(this.#options.episode, recorded.turn)
      request.recall?.(recorded.answer)
      return recorded.answer
    }
    const turn = this.#place(asked, wish)
    try {
      const since = clock.monotonic()
      const sampled = await this.#sample(turn, request.signal)
      const took = { seconds: (clock.monotonic() - since) / 1000, attempt: this.#options.attempt }
      return await this.#inOrder(() => this.#store(turn, { sampled, took }, digest, request))
    } catch (error) {
      this.#tree.giveUp(turn.follows, turn.branch)
      throw error
    }
  }

  get #isOver(): boolean {
    return this.#isClosed || this.#end !== undefined
  }

  #over(): RequestFault {
    const why = this.#end?.kind === 'fault' ? 'the attempt has failed' : (this.#end?.kind ?? 'it is over')
    return new RequestFault('ended', `the episode of this key has ended: ${why}`)
  }

  #count({ asked, write }: FormRequest): string {
    const { encoder, limits } = this.#options
    const [given] = asked.prompts
    const prompt =
      given === undefined || 'ids' in given
        ? Int32Array.from(given?.ids ?? [])
        : encodePrompt(encoder, given, limits.contextLength)
    if (prompt === undefined) throw tooLong(limits, asked)
    return write({ model: this.#model(0), answers: [{ prompt, samples: [] }] })
  }

  /** Finds the place of a request, which is taken from then on. @throws RequestFault */
  #place(asked: Asked, wish: Wish): PlacedTurn {
    const { limits, encoder } = this.#options
    const [given, another] = asked.prompts
    const { param } = asked
    if (given === undefined || another !== undefined || wish.count !== 1)
      throw new RequestFault('bad_request', `\`${param}\`: one prompt with one answer is a turn`, param)
    if ('text' in given)
      throw new RequestFault('bad_request', `\`${param}\`: send messages or token ids in training`, param)
    const place = this.#tree.place(given)
    if (place.contradicts !== undefined) throw this.#diverged(place, place.contradicts, given)
    if (this.#tree.turns + this.#inProgress > limits.turnLimit) throw this.#limited('turn_limit')
    if (this.#tokens >= limits.tokenLimit) throw this.#limited('token_limit')
    const path = this.#tree.path(place.follows)
    const { context, borders } = contextOf(path)
    const maxTokens = Math.min(wish.maxTokens ?? limits.maxTokens, limits.maxTokens)
    const room = limits.contextLength - context.length - maxTokens
    const toolsText = 'ids' in given ? noTools : JSON.stringify(given.tools)
    const isKnown = toolsText === (place.follows?.tools ?? noTools)
    const tools = 'ids' in given || isKnown ? undefined : given.tools
    const messages: readonly Message[] =
      'ids' in given
        ? [{ role: 'user', content: encoder.tokenizer.decode(given.ids.slice(place.known)) }]
        : given.messages.slice(place.known)
    const prompt =
      'ids' in given
        ? within(room, Int32Array.from(given.ids.slice(place.known)))
        : this.#encoded({ before: context, messages, tools }, room, param)
    if (prompt === undefined) throw tooLong(limits, asked)
    if (prompt.length + context.length === 0)
      throw new RequestFault('bad_request', `\`${param}\`: it is empty`, param)
    return {
      ...{ follows: place.follows, branch: this.#tree.begin(place.follows), at: path.length },
      ...{ messages, tools, toolsText, context, borders, prompt, maxTokens },
      stopTokens: [...encoder.chat.stopTokens, ...(wish.stopTokens ?? [])],
    }
  }

  #encoded(
    added: {
      readonly before: Int32Array
      readonly messages: readonly Message[]
      readonly tools: readonly ToolSpec[] | undefined
    },
    room: number,
    param: string,
  ): Int32Array | undefined {
    try {
      const sampledAs = (message: AssistantMessage) => this.#tree.sampledAs(message)
      return encodeMessages(this.#options.encoder.chat, { ...added, sampledAs }, room)
    } catch (cause) {
      if (cause instanceof ChatFault) throw new RequestFault('bad_request', cause.message, param, { cause })
      throw cause
    }
  }

  #limited(kind: 'turn_limit' | 'token_limit'): RequestFault {
    this.end({ kind })
    return this.#over()
  }

  #diverged(place: TreePlace, recorded: TreeTurn, given: Asked['prompts'][number]): RequestFault {
    const at = this.#tree.path(place.follows).length
    const sent = 'messages' in given ? given.messages.slice(place.known) : []
    const words = [
      `the agent diverged at turn ${at} of branch ${recorded.branch} (turn ${recorded.turn} of the episode):`,
      `before the restart it sent ${shown(recorded.messages)}, now ${shown(sent)}`,
    ].join(' ')
    this.end({ kind: 'fault', fault: new AgentFault('diverged', words) })
    return this.#over()
  }

  async #sample(turn: PlacedTurn, signal: AbortSignal): Promise<SampledTokens> {
    const { episode, run, serving, draw, temperature, attempt } = this.#options
    const { branch, at, context, borders, prompt, maxTokens, stopTokens } = turn
    const asked = {
      id: `${agentBranchKey(episode, branch)}/t${at}-${attempt}`,
      cacheKey: agentBranchKey(episode, branch),
      context: grownContext(context, prompt),
      borders,
      ...(await draw(branch, at)),
      maxNewTokens: maxTokens,
      temperature,
      stopTokens,
      background: yieldsToTraining(episode),
    }
    return await serving.sample(run, asked, signal)
  }

  /** One after the other, so that numbers have no gap. */
  async #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#storing.then(work, work)
    this.#storing = mine.catch(() => undefined)
    return mine
  }

  async #store(
    turn: PlacedTurn,
    { sampled, took }: { readonly sampled: SampledTokens; readonly took: TurnTime },
    digest: string,
    request: FormRequest,
  ): Promise<string> {
    if (this.#isOver) throw this.#over()
    const { episode, store, encoder } = this.#options
    const { message, problems } = encoder.chat.parseAction(sampled.tokens)
    const { messages, tools, toolsText, prompt } = turn
    const answer = request.write({
      model: this.#model(sampled.version),
      answers: [{ prompt: grownContext(turn.context, prompt), samples: [sampled] }],
    })
    const number = this.#tree.turns
    const action: StoredAction = {
      ...{ episode, turn: number, prompt, message, problems },
      ...sampled,
      asked: {
        branch: turn.branch,
        follows: turn.follows?.turn ?? -1,
        form: request.form.path,
        request: digest,
        answer,
      },
    }
    const observation = { episode, turn: number, messages, reward: 0, done: false, info: {} }
    await store.observations.put({ ...observation, ...(tools === undefined ? {} : { tools }) })
    if ((await store.actions.put(action, took)) === 'already')
      throw new AgentFault(
        'crashed',
        `another attempt plays ${episode} too: turn ${number} is stored already`,
      )
    this.#tree.add(treeTurn(action, { messages, toolsText, encoder }))
    this.#tokens += prompt.length + sampled.tokens.length
    this.#refused = 0
    this.#lastAction = action
    return answer
  }

  #model(version: number) {
    const { run, encoder } = this.#options
    return { ...encoder, id: `${run}@${version}` }
  }
}

/** Digest of form, prompts and wishes: requests that agree in them are equal. */
function digestOf(path: string, isStreamed: boolean, { prompts, wish }: Asked): string {
  return createHash('sha256')
    .update(JSON.stringify([path, isStreamed, prompts, wish]))
    .digest('base64')
}

/** Messages in a few words. */
function shown(messages: readonly Message[]): string {
  const last = messages.at(-1)
  const text = last === undefined ? '' : `, the last "${last.content.slice(0, 80)}"`
  return `${messages.length} new messages${text}`
}
