/**
 * Threads that sessions share, a few at a time, and threads that a slow session has to itself.
 *
 * A thread per session would cost more than most sessions do, and a session that holds a shared thread would hold up
 * its neighbours. So a request that has a shared thread for longer than a slice, while others wait for it, gets the
 * thread to itself, and the others are made again elsewhere, from what they were opened with and what was done in them.
 *
 * Invariants
 * - A session waits for its neighbours' work for a slice at a time, not for their deadlines, as long as no more than
 *   `mostOwned` of them hold a thread at once; beyond that it waits for one of their deadlines.
 * - The end of a thread is the loss of the session that ran in it, never of one that waited.
 * - There are at most `shared + 2 * mostOwned` threads; those without a session end when more than `shared` are there.
 */
import { EnvironmentFault } from '../contract/environment.ts'
import { type SessionScript, ThreadSession, type Threads, type Wish } from './session.ts'
import { type Asker, Thread, type ThreadModule } from './thread.ts'

/** The thread module and the limits of a pool. */
export interface PoolOptions extends ThreadModule {
  /** Threads that all sessions share. */
  readonly shared: number
  /** Sessions that a shared thread takes before another one is started. */
  readonly sessionsOfThread: number
}

/** Threads that slow sessions have to themselves at once. */
const mostOwned = 10

export class ThreadPool<Request, Reply> implements Threads<Request, Reply> {
  readonly #options: PoolOptions
  readonly #waiters: (() => void)[] = []
  #threads: Thread<Request, Reply>[] = []
  #closed = false

  constructor(options: PoolOptions) {
    this.#options = options
  }

  /** A session that is made when it is first asked. */
  session(script: SessionScript<Request, Reply>): ThreadSession<Request, Reply> {
    return new ThreadSession(this, script)
  }

  /** Threads that are there now. */
  get size(): number {
    return this.#threads.length
  }

  /** A thread for a session. @throws EnvironmentFault session_lost when the pool is closed */
  async place(session: Asker, wish: Wish): Promise<Thread<Request, Reply>> {
    let thread = this.#choose(session, wish)
    while (thread === undefined) {
      await new Promise<void>((resolve) => this.#waiters.push(resolve))
      thread = this.#choose(session, wish)
    }
    thread.sessions.add(session)
    return thread
  }

  /** A session has nothing in a thread any more. */
  leave(thread: Thread<Request, Reply>, session: Asker): void {
    thread.sessions.delete(session)
    if (thread.owner === session) thread.share()
    this.#review()
  }

  async close(): Promise<void> {
    this.#closed = true
    const threads = this.#threads.splice(0)
    for (const thread of threads) thread.end(closedFault())
    this.#wake()
    await Promise.all(threads.map((thread) => thread.gone()))
  }

  #choose(session: Asker, wish: Wish): Thread<Request, Reply> | undefined {
    if (this.#closed) throw closedFault()
    if (wish === 'alone') return this.#ownThread(session)
    const { shared, sessionsOfThread } = this.#options
    const free = this.#threads
      .filter(({ owner, ended }) => owner === undefined && !ended)
      .toSorted((left, right) => left.load - right.load || left.sessions.size - right.sessions.size)
    const [best] = free
    if (best === undefined) return this.#start()
    if (wish === 'first') {
      const emptiest = free.toSorted((left, right) => left.sessions.size - right.sessions.size)[0] ?? best
      const isRoomy = emptiest.sessions.size < sessionsOfThread || free.length >= shared
      return isRoomy ? emptiest : this.#start()
    }
    return best.idle || this.#threads.length >= shared + mostOwned ? best : this.#start()
  }

  #ownThread(session: Asker): Thread<Request, Reply> | undefined {
    if (!this.#mayOwn()) return undefined
    const empty = this.#threads.find(
      ({ sessions, owner, idle }) => sessions.size === 0 && owner === undefined && idle,
    )
    const thread = empty ?? this.#start()
    thread.giveTo(session, true)
    return thread
  }

  /** Whether one more thread may belong to one session; one whose owner is idle is taken from it. */
  #mayOwn(): boolean {
    const owned = this.#threads.filter(({ owner }) => owner !== undefined)
    if (owned.length < mostOwned) return true
    const resting = owned.find(({ idle }) => idle)
    resting?.share()
    return resting !== undefined
  }

  #start(): Thread<Request, Reply> {
    const thread = new Thread<Request, Reply>(this.#options, () => this.#review())
    this.#threads.push(thread)
    return thread
  }

  /** After anything has changed: gives threads to those that hold them, and ends what is unused. */
  #review(): void {
    this.#threads = this.#threads.filter(({ ended }) => !ended)
    for (const thread of this.#threads) {
      if (thread.isSpare) thread.share()
      const { holder } = thread
      if (holder !== undefined && this.#mayOwn()) thread.giveTo(holder)
    }
    const shared = this.#threads.filter(({ owner }) => owner === undefined)
    const unused = shared.filter(({ sessions, idle }) => sessions.size === 0 && idle)
    for (const thread of unused.slice(0, Math.max(0, shared.length - this.#options.shared)))
      thread.end(closedFault())
    this.#wake()
  }

  #wake(): void {
    for (const resolve of this.#waiters.splice(0)) resolve()
  }
}

function closedFault(): EnvironmentFault {
  return new EnvironmentFault('session_lost', 'the environment is closed: open it again')
}
