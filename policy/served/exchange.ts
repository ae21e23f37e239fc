/**
 * Exchange: an action that is asked of a server, and its answer.
 *
 * Invariants
 * - An answer is of its protocol's form and within its bound; whether it is believed is not decided here (`checked-answer.ts`).
 * - A request that is cancelled is ended at its server too.
 */
import { reasonOf } from '../../faults/reason.ts'
import { EngineFault, type EngineStatistics } from '../engines/engine.ts'
import { withMissing } from './missing-logprobs.ts'
import { callForText, callServer } from './server-call.ts'
import type { Answer, Ask, ServerProtocol } from './server-protocol.ts'

/** A server that answers at all takes an abort at once. */
const abortMs = 10_000
/** The most bytes of an answer: its frame, and for each token the names, bytes and numbers that are reported with it. */
const frameBytes = 2 ** 20
const tokenBytes = 4096
/** Tokens of the largest vocabularies in use. */
const mostListed = 2 ** 18

/** Where an action is asked for. */
export interface AskedServer {
  readonly url: string
  /** In messages. */
  readonly name: string
  /** Requests that have no answer yet. */
  open: number
}

export interface ExchangeSettings {
  readonly apiKey: string | undefined
  /** Milliseconds that one action may take. */
  readonly answerMs: number
}

export class Exchange {
  readonly #protocol: ServerProtocol
  readonly #settings: ExchangeSettings
  #counts = { sampledTokens: 0, prefilledTokens: 0, reusedTokens: 0, busySeconds: 0 }

  constructor(protocol: ServerProtocol, settings: ExchangeSettings) {
    this.#protocol = protocol
    this.#settings = settings
  }

  /** The tokens sampled so far, and how long servers took for them. */
  get counts(): Omit<EngineStatistics, 'waiting' | 'running'> {
    return this.#counts
  }

  /** An answer with a logprob for each of its tokens, where the server can tell it. @throws EngineFault */
  async answer(server: AskedServer, ask: Ask, vocabulary: number, signal: AbortSignal): Promise<Answer> {
    const answer = await this.#call(server, ask, signal)
    return withMissing(answer, ask, {
      vocabulary: Math.min(vocabulary, mostListed),
      call: (more) => this.#call(server, more, signal),
    })
  }

  /** Counts what was sampled for a turn. */
  count(
    { tokens, cachedTokens }: Pick<Answer, 'cachedTokens'> & { tokens: ArrayLike<number> },
    ask: Ask,
  ): void {
    this.#counts.sampledTokens += tokens.length
    this.#counts.reusedTokens += cachedTokens
    this.#counts.prefilledTokens += ask.context.length - cachedTokens
  }

  /** @throws EngineFault */
  async #call(server: AskedServer, ask: Ask, signal: AbortSignal): Promise<Answer> {
    const { apiKey, answerMs } = this.#settings
    const answerBytes =
      frameBytes + tokenBytes * ask.maxNewTokens * (1 + ask.alternatives) + 16 * ask.context.length
    const began = performance.now()
    server.open++
    try {
      const answered = await callServer(
        { url: server.url, ...this.#protocol.request(ask) },
        { apiKey, answerMs, answerBytes, signal },
      )
      return this.#read(server, answered, ask)
    } catch (fault) {
      if (signal.aborted) this.#abort(server, ask.id)
      throw fault
    } finally {
      server.open--
      this.#counts.busySeconds += (performance.now() - began) / 1000
    }
  }

  /** Nothing waits for it: what is not aborted ends by itself. */
  #abort({ url }: AskedServer, id: string): void {
    const request = this.#protocol.abort?.(id)
    if (request === undefined) return
    const { apiKey } = this.#settings
    const calling = callForText({ url, ...request }, { apiKey, answerMs: abortMs, answerBytes: frameBytes })
    calling.catch(() => undefined)
  }

  #read(server: AskedServer, answered: unknown, ask: Ask): Answer {
    try {
      return this.#protocol.read(answered, ask)
    } catch (cause) {
      throw new EngineFault(
        'wrong_answer',
        `${server.name} answered in a form that is not ${this.#protocol.name}'s (${reasonOf(cause).replaceAll(/\s+/g, ' ').slice(0, 300)}); is policy.engine what runs there?`,
        { cause },
      )
    }
  }
}
