/**
 * Answers to requests that are sent again.
 *
 * Invariants
 * - [RETRIES-1] Requests with the same `Idempotency-Key` get the same answer, sampled once; another body with that key is refused.
 * - [RETRIES-2] A retry gets the answer to an equal request, in progress or kept: first one that no client received. So it does not
 *   get the answer that another episode with the same words has, while its own is there.
 * - [RETRIES-3] A failure is not kept: a retry is tried again. Answers are kept within bounds.
 * - [RETRIES-4] Sampling ends when the last client that waits for it leaves; where it may return, a while later.
 */
import { createHash } from 'node:crypto'
import { clock } from '../../machine/services/clock.ts'
import { Recent } from './recent.ts'
import { RequestFault } from './request-fault.ts'

/** How a request was sent. */
export interface Sent {
  /** Where, by a client with which key, and the body: requests that agree in all are equal. */
  readonly parts: readonly [path: string, credential: string, body: string]
  /** The `Idempotency-Key`. */
  readonly key: string | undefined
  /** Whether it says of itself that it is sent again. */
  readonly isRetry: boolean
  /** Whether a client that leaves may send it again. */
  readonly mayReturn: boolean
  readonly signal: AbortSignal
}

/** An answer, sampled once for all who wait for it. */
interface Work {
  readonly key: string | undefined
  readonly digest: string
  readonly answer: Promise<string>
  readonly stop: AbortController
  waiting: number
  isReceived: boolean
}

const keptAnswers = { most: 512, mostCharacters: 16 * 1024 * 1024, ms: 10 * 60 * 1000 }

/** Milliseconds: clients of OpenAI and Anthropic wait at most 8 seconds before they try again. */
const absence = 10_000

export class Retries {
  readonly #inProgress = new Set<Work>()
  readonly #done = new Recent<Work>(keptAnswers)
  #answers = 0

  /** @param begin samples the answer @throws RequestFault, what sampling throws, and the signal's reason */
  async answer(sent: Sent, begin: (signal: AbortSignal) => Promise<string>): Promise<string> {
    const { parts, key, signal, mayReturn } = sent
    signal.throwIfAborted()
    const [path, credential] = parts
    const names = {
      key: key === undefined ? undefined : digestOf(path, credential, key),
      digest: digestOf(...parts),
    }
    const work = this.#known(names, sent.isRetry) ?? this.#begin(names, begin)
    work.waiting += 1
    const left = Promise.withResolvers<never>()
    const leave = (): void => left.reject(signal.reason)
    signal.addEventListener('abort', leave)
    try {
      const text = await Promise.race([work.answer, left.promise])
      work.isReceived = true
      return text
    } finally {
      signal.removeEventListener('abort', leave)
      work.waiting -= 1
      if (!mayReturn) this.#stopUnused(work)
      else if (this.#inProgress.has(work)) clock.after(absence, () => this.#stopUnused(work)).unref()
    }
  }

  #known({ key, digest }: Pick<Work, 'key' | 'digest'>, isRetry: boolean): Work | undefined {
    if (key === undefined && !isRetry) return undefined
    const done = this.#done.newest()
    if (key === undefined) {
      const equal = [...this.#inProgress, ...done].filter((work) => work.digest === digest)
      const unreceived = equal.find(({ waiting, isReceived }) => waiting === 0 && !isReceived)
      return unreceived ?? equal[0]
    }
    const known = [...this.#inProgress, ...done].find((work) => work.key === key)
    if (known === undefined || known.digest === digest) return known
    throw new RequestFault(
      'bad_request',
      '`Idempotency-Key`: another request was sent with it, give each request its own',
      'Idempotency-Key',
    )
  }

  #begin(names: Pick<Work, 'key' | 'digest'>, begin: (signal: AbortSignal) => Promise<string>): Work {
    const stop = new AbortController()
    const work = { ...names, answer: begin(stop.signal), stop, waiting: 0, isReceived: false }
    this.#inProgress.add(work)
    work.answer.then(
      ({ length }) => {
        this.#inProgress.delete(work)
        this.#done.keep(`${++this.#answers}`, work, length)
      },
      () => this.#inProgress.delete(work),
    )
    return work
  }

  #stopUnused(work: Work): void {
    if (work.waiting > 0 || !this.#inProgress.delete(work)) return
    work.stop.abort(new DOMException('no client waits for the answer', 'AbortError'))
  }
}

function digestOf(...parts: readonly string[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(`${part.length} ${part}`)
  return hash.digest('base64')
}
