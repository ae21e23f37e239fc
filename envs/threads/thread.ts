/**
 * One thread that sessions share, as its owner sees it.
 *
 * Invariants
 * - It works on one request at a time, in the order they came; the rest wait on this side and can be taken elsewhere.
 * - A request's time begins when its work begins, whatever was asked before it. A request that is not answered in its time
 *   ends the thread.
 * - The loss of a thread fails the request at work; the requests that wait are displaced.
 * - A thread that belongs to one session takes no request of another. An idle thread keeps no process alive.
 */
import { Worker } from 'node:worker_threads'
import { codeOf } from '../../faults/system-error.ts'
import { ThreadCalls, type ThreadLoss } from '../../machine/modules/thread-calls.ts'
import { EnvironmentFault } from '../contract/environment.ts'

/** Who asks: a session, known by itself. */
export type Asker = object

/** The cause of a thread's end. */
export type Ending = 'out of time' | 'out of memory' | 'broken'

/** The thread ended in the middle of this request. */
export class ThreadEnded extends Error {
  override readonly name = 'ThreadEnded'
  readonly kind = 'thread_ended'
  readonly ending: Ending
  /** Whether no other session had anything in it. */
  readonly wasAlone: boolean

  constructor(ending: Ending, wasAlone: boolean, options?: { cause?: unknown }) {
    super(`the thread ended: ${ending}`, options)
    this.ending = ending
    this.wasAlone = wasAlone
  }
}

/** The thread is another's now, or has ended before the request's turn: it is to be made elsewhere. */
export class Displaced extends Error {
  override readonly name = 'Displaced'
  readonly kind = 'displaced'
}

/** The methods of such a thread. */
export type AnsweringMethods<Request, Reply> = {
  readonly answer: { readonly request: Request; readonly reply: Reply }
}

/** How a thread is started. */
export interface ThreadModule {
  readonly url: URL
  readonly name: string
  /** Megabytes of JavaScript heap. */
  readonly heapMebibytes: number
}

/** How long a request may hold a thread for which others wait: they are placed elsewhere then. */
export const sliceMs = 100
// After a request this long a session keeps its thread: the next one may be as long.
const keepMs = 1000
// Loading takes a tenth of a second, on a busy machine much more.
const startMs = 60_000

interface Job<Request, Reply> {
  /** Undefined for what only tidies up. */
  readonly asker: Asker | undefined
  readonly request: Request
  readonly allowedMs: number
  readonly resolve: (reply: Reply) => void
  readonly reject: (fault: Error) => void
}

export class Thread<Request, Reply> {
  readonly #worker: Worker
  readonly #calls: ThreadCalls<AnsweringMethods<Request, Reply>>
  readonly #waiting: Job<Request, Reply>[] = []
  readonly #onChange: () => void
  #running: Job<Request, Reply> | undefined
  #ready = false
  #ended = false
  #began = 0
  #slice: NodeJS.Timeout | undefined
  #deadline: NodeJS.Timeout | undefined
  #owner: Asker | undefined
  #isKept = false
  #lastMs = 0
  #terminated: Promise<unknown> | undefined
  /** The sessions that are open in the thread. */
  readonly sessions = new Set<Asker>()

  /** @param onChange is called when a request has taken its slice, when one is done, and at the end */
  constructor({ url, name, heapMebibytes }: ThreadModule, onChange: () => void) {
    this.#onChange = onChange
    this.#worker = new Worker(url, {
      name,
      // Nothing of the process is handed to a thread that runs what an agent wrote.
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: heapMebibytes },
    })
    this.#calls = new ThreadCalls(this.#worker, {
      onReady: () => {
        this.#ready = true
        this.#stopTimers()
        this.#next()
        this.#onChange()
      },
      onLoss: (loss) => this.#lose(loss),
    })
    this.#deadline = setTimeout(() => this.end('broken', new Error('it did not start in time')), startMs)
    this.#deadline.unref()
  }

  get ended(): boolean {
    return this.#ended
  }

  /** Whether nothing is at work, or waits. */
  get idle(): boolean {
    return this.#running === undefined && this.#waiting.length === 0
  }

  /** How many requests it has. */
  get load(): number {
    return this.#waiting.length + (this.#running === undefined ? 0 : 1)
  }

  /** The one session that may use it; undefined while it is shared. */
  get owner(): Asker | undefined {
    return this.#owner
  }

  /** Who has held it for longer than a slice while others wait; undefined where it is fairly shared. */
  get holder(): Asker | undefined {
    const asker = this.#running?.asker
    const isSlow = this.#slice === undefined && this.#running !== undefined
    return isSlow && this.#owner === undefined && this.#waiting.some((job) => job.asker !== asker)
      ? asker
      : undefined
  }

  /** Whether its owner could do without it: it asks nothing, and what it asked last was short. */
  get isSpare(): boolean {
    return this.#owner !== undefined && this.idle && !this.#isKept && this.#lastMs < keepMs
  }

  /**
   * From here on it is this session's alone; others are displaced.
   * @param isKept also when what it asks is short
   */
  giveTo(asker: Asker, isKept = false): void {
    this.#owner = asker
    this.#isKept = isKept
    const kept = this.#waiting.filter((job) => job.asker === asker || job.asker === undefined)
    const displaced = this.#waiting.filter((job) => !kept.includes(job))
    this.#waiting.splice(0, this.#waiting.length, ...kept)
    for (const { reject } of displaced) reject(new Displaced('the thread is another session’s now'))
  }

  /** It is shared again. */
  share(): void {
    this.#owner = undefined
  }

  /**
   * Asks; the answer comes when all before it are answered.
   * @param allowedMs how long the thread may work on it
   * @throws Displaced, ThreadEnded, CallFailed
   */
  ask(asker: Asker, request: Request, allowedMs: number): Promise<Reply> {
    if (this.#ended) return Promise.reject(new Displaced('the thread has ended'))
    if (this.#owner !== undefined && this.#owner !== asker)
      return Promise.reject(new Displaced('the thread is another session’s'))
    return new Promise((resolve, reject) => {
      this.#waiting.push({ asker, request, allowedMs, resolve, reject })
      this.#next()
      if (this.holder !== undefined) this.#onChange()
    })
  }

  /** Has it tidied up when there is time. */
  tell(request: Request, allowedMs: number): void {
    if (this.#ended) return
    const nothing = () => {}
    this.#waiting.push({ asker: undefined, request, allowedMs, resolve: nothing, reject: nothing })
    this.#next()
  }

  /**
   * Drops a session's requests. The one at work keeps the rest of its slice, since most are done by then and
   * ending the thread costs all who share it; one that it has alone ends at once.
   */
  abandon(
    asker: Asker,
    { isAlone, fault }: { readonly isAlone: boolean; readonly fault: EnvironmentFault },
  ): void {
    const unwanted = this.#waiting.filter((job) => job.asker === asker)
    for (const job of unwanted) this.#waiting.splice(this.#waiting.indexOf(job), 1)
    for (const { reject } of unwanted) reject(fault)
    const job = this.#running
    if (job?.asker !== asker) return
    if (isAlone) {
      this.end(fault)
      return
    }
    clearTimeout(this.#deadline)
    this.#deadline = setTimeout(() => this.#ifUnanswered(job, () => this.end(fault)), sliceMs)
  }

  /** Ends it, whatever it runs. */
  end(ending: Ending | EnvironmentFault, cause?: unknown): void {
    if (this.#ended) return
    this.#ended = true
    this.#stopTimers()
    const waiting = this.#waiting.splice(0)
    const running = this.#running
    this.#running = undefined
    const closed = ending instanceof EnvironmentFault ? ending : undefined
    running?.reject(closed ?? new ThreadEnded(ending as Ending, this.sessions.size <= 1, { cause }))
    // A thread that never started cannot run the waiting requests elsewhere either.
    const unusable = this.#ready
      ? undefined
      : new EnvironmentFault('backend', `a thread of environments cannot be started: ${String(cause)}`, {
          cause,
        })
    for (const { reject } of waiting) reject(closed ?? unusable ?? new Displaced('the thread has ended'))
    this.#calls.fail(new Displaced('the thread has ended'))
    this.#terminated = this.#worker.terminate()
    this.#onChange()
  }

  /** Resolves when nothing of it runs any more. */
  async gone(): Promise<void> {
    await this.#terminated
  }

  #lose(loss: ThreadLoss): Error {
    const cause = 'cause' in loss ? loss.cause : undefined
    this.end(codeOf(cause) === 'ERR_WORKER_OUT_OF_MEMORY' ? 'out of memory' : 'broken', cause)
    return new Displaced('the thread has ended')
  }

  async #work(job: Job<Request, Reply>): Promise<void> {
    const outcome = await this.#calls.call('answer', job.request).then(
      (reply) => () => job.resolve(reply),
      (fault) => () => job.reject(fault),
    )
    // The end of the thread has settled its requests.
    if (this.#ended) return
    this.#running = undefined
    this.#stopTimers()
    if (job.asker !== undefined) this.#lastMs = performance.now() - this.#began
    outcome()
    this.#next()
    this.#onChange()
  }

  #next(): void {
    if (this.idle) {
      this.#worker.unref()
      return
    }
    this.#worker.ref()
    if (!this.#ready || this.#running !== undefined) return
    const job = this.#waiting.shift()
    if (job === undefined) return
    this.#running = job
    this.#began = performance.now()
    this.#slice = setTimeout(
      () =>
        this.#ifUnanswered(job, () => {
          this.#slice = undefined
          this.#onChange()
        }),
      sliceMs,
    )
    this.#deadline = setTimeout(() => this.#ifUnanswered(job, () => this.end('out of time')), job.allowedMs)
    void this.#work(job)
  }

  /** An answer that came while this process was busy is heard before its time is called up. */
  #ifUnanswered(job: Job<Request, Reply>, act: () => void): void {
    setImmediate(() => {
      if (this.#running === job && !this.#ended) act()
    })
  }

  #stopTimers(): void {
    clearTimeout(this.#slice)
    clearTimeout(this.#deadline)
    this.#slice = undefined
    this.#deadline = undefined
  }
}
