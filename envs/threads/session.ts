/**
 * One session in a thread that it may share: wherever it lives, it is the same.
 *
 * Invariants
 * - It is asked one thing after another, each answered once.
 * - In another thread it is made again by what it was opened with and what it kept; that gives the same state.
 * - A loss is its own only where it ran alone, or out of time: what a shared thread could not do is done once more in
 *   a thread of its own.
 */
import { CallFailed } from '../../machine/modules/thread-calls.ts'
import { EnvironmentFault } from '../contract/environment.ts'
import { type Asker, Displaced, type Ending, type Thread, ThreadEnded } from './thread.ts'

/** Why a session looks for a thread: it begins, it was displaced, or only an own thread will do. */
export type Wish = 'first' | 'displaced' | 'alone'

/** Where a session finds a thread. */
export interface Threads<Request, Reply> {
  /** @throws EnvironmentFault session_lost when there are none any more */
  place(session: Asker, wish: Wish): Promise<Thread<Request, Reply>>
  /** The session has nothing in the thread any more. */
  leave(thread: Thread<Request, Reply>, session: Asker): void
}

/** The requests that open and close a session, and how its replies are read. */
export interface SessionScript<Request, Reply> {
  readonly open: Request
  readonly close: Request
  /** Whether a reply tells of a limit that all sessions of a thread share. */
  readonly isShareLimit?: (reply: Reply) => boolean
  /** Whether a request that was kept came to the same when it was made again. */
  readonly isMadeAgain?: (reply: Reply) => boolean
}

/** The answer to a request, or how it ended the thread. */
export type Outcome<Reply> =
  | { readonly kind: 'reply'; readonly reply: Reply }
  | { readonly kind: 'ended'; readonly ending: Ending }

/** A request that is made again wherever the session is, and its time. */
export interface Kept<Request> {
  readonly request: Request
  readonly allowedMs: number
}

// Making or removing takes milliseconds; a machine that is busier than this is of no use.
const upkeepMs = 60_000

export class ThreadSession<Request, Reply> {
  readonly #threads: Threads<Request, Reply>
  readonly #script: SessionScript<Request, Reply>
  readonly #kept: Kept<Request>[] = []
  #thread: Thread<Request, Reply> | undefined
  #last: Promise<unknown> = Promise.resolve()
  #closed = false

  constructor(threads: Threads<Request, Reply>, script: SessionScript<Request, Reply>) {
    this.#threads = threads
    this.#script = script
  }

  /** Makes it in a thread. @throws EnvironmentFault */
  async open(): Promise<void> {
    const outcome = await this.#inTurn(() => this.#do('first', async () => undefined))
    if (outcome.kind === 'ended') throw lostFault(outcome.ending)
  }

  /**
   * Asks it.
   * @param keep what of it is made again in another thread, by its reply
   * @throws EnvironmentFault session_lost when it is closed, backend where threads cannot work
   */
  ask(
    request: Request,
    allowedMs: number,
    keep?: (reply: Reply) => Kept<Request> | undefined,
  ): Promise<Outcome<Reply>> {
    return this.#inTurn(async () => {
      const outcome = await this.#do(
        'displaced',
        (thread) => thread.ask(this, request, allowedMs),
        this.#script.isShareLimit,
      )
      const kept = outcome.kind === 'reply' ? keep?.(outcome.reply) : undefined
      if (kept !== undefined) this.#kept.push(kept)
      return outcome
    })
  }

  /** Gone with all it holds; what it runs is stopped. May be called twice. */
  close(): void {
    this.#closed = true
    const thread = this.#thread
    if (thread === undefined) return
    const isAlone = thread.owner === this || thread.sessions.size === 1
    this.#leave()
    thread.abandon(this, { isAlone, fault: closedFault() })
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => undefined)
    return turn
  }

  /** Does it, in another thread where this one is lost through no fault of its own. */
  async #do<T>(
    first: Wish,
    work: (thread: Thread<Request, Reply>) => Promise<T>,
    isShareLimit?: (done: T) => boolean,
  ): Promise<Outcome<T>> {
    for (let wish = first; ; this.#leave()) {
      let isMade = false
      try {
        const thread = await this.#madeIn(wish)
        if (this.#closed) throw closedFault()
        isMade = true
        const reply = await work(thread)
        if (this.#isAlone(thread) || isShareLimit?.(reply) !== true) return { kind: 'reply', reply }
        wish = 'alone'
      } catch (error) {
        const wasAlone = this.#isAlone(this.#thread)
        // A half of it is of no use.
        if (!isMade) this.#leave()
        if (this.#closed) throw closedFault()
        if (error instanceof Displaced) wish = 'displaced'
        else if (error instanceof ThreadEnded && (error.ending === 'out of time' || error.wasAlone)) {
          this.#leave()
          if (!isMade) throw lostFault(error.message)
          return { kind: 'ended', ending: error.ending }
        } else if (error instanceof ThreadEnded) wish = 'alone'
        else if (error instanceof CallFailed && !wasAlone) wish = 'alone'
        else if (error instanceof CallFailed && isMade)
          throw new EnvironmentFault('backend', error.message, { cause: error })
        else throw error instanceof CallFailed ? lostFault(error.message) : error
      }
    }
  }

  #isAlone(thread: Thread<Request, Reply> | undefined): boolean {
    return thread?.sessions.size === 1
  }

  #leave(): void {
    const thread = this.#thread
    this.#thread = undefined
    if (thread === undefined) return
    thread.tell(this.#script.close, upkeepMs)
    this.#threads.leave(thread, this)
  }

  /** The thread that it is in, where it is made first if need be. */
  async #madeIn(wish: Wish): Promise<Thread<Request, Reply>> {
    if (this.#closed) throw closedFault()
    const there = this.#thread
    if (there !== undefined && !there.ended) return there
    if (there !== undefined) this.#leave()
    const thread = await this.#threads.place(this, wish)
    this.#thread = thread
    if (this.#closed) throw closedFault()
    await thread.ask(this, this.#script.open, upkeepMs)
    for (const { request, allowedMs } of this.#kept) {
      const reply = await thread.ask(this, request, allowedMs)
      if (this.#script.isMadeAgain?.(reply) === false)
        throw new CallFailed('what was done before came to something else')
    }
    return thread
  }
}

function closedFault(): EnvironmentFault {
  return new EnvironmentFault('session_lost', 'the session is closed: reset the environment first')
}

function lostFault(reason: string): EnvironmentFault {
  return new EnvironmentFault('session_lost', `the session could not be made: ${reason}`)
}
