/**
 * The embedded databases: MySQL's dialect in threads that many sessions share.
 *
 * A statement ends itself at its deadline where it can (an endless query), and is ended with its thread where not (one
 * call that compares endlessly). Sessions that shared the thread are then made again by their statements,
 * which give the same results.
 *
 * Invariants
 * - A session never sees another's data, time or failure.
 * - A session whose thread ended continues in another one, with its state.
 * - No statement takes longer than its deadline and half a second, counted from its start.
 */
import { availableParallelism } from 'node:os'
import { extname } from 'node:path'
import type { StateHash, TableData } from '../../../worlds/mysql/database.ts'
import {
  type Database,
  type DatabaseBackend,
  lostConnection,
  type StatementLimits,
  type StatementResult,
} from '../../../worlds/mysql/database.ts'
import { outOfMemory } from '../../../worlds/mysql/failure.ts'
import { EnvironmentFault } from '../../contract/environment.ts'
import { ThreadPool } from '../../threads/pool.ts'
import type { Outcome, ThreadSession } from '../../threads/session.ts'
import type { Ending } from '../../threads/thread.ts'
import type { Reply, Request } from './database-worker.ts'

// Beyond its deadline a statement needs a moment to be undone and reported.
const graceMs = 500
// A statement that succeeded once gets more time when it is replayed, since the machine may be busier.
const againFactor = 4
const databasesOfThread = 32
const mostThreads = Math.min(4, availableParallelism())
// The databases of a thread, a statement's rows beside them, and JavaScript's own share.
const heapMebibytes = 512

/** Opens the embedded backend; threads start when they are needed. */
export function openEmbedded(limits: StatementLimits): DatabaseBackend {
  const pool = new ThreadPool<Request, Reply>({
    // The same folder holds the worker's module as source and in the package, under either extension.
    url: new URL(`./database-worker${extname(import.meta.url)}`, import.meta.url),
    name: 'databases',
    heapMebibytes,
    shared: mostThreads,
    sessionsOfThread: databasesOfThread,
  })
  let counter = 0
  return {
    async open(tables, identity) {
      const database = counter++
      const session = pool.session({
        open: { kind: 'open', database, tables, identity },
        close: { kind: 'close', database },
        isShareLimit: isOutOfMemory,
        isMadeAgain: (reply) => resultOf(reply)?.kind === 'done',
      })
      await session.open()
      return new EmbeddedDatabase(session, database, limits)
    },
    close: () => pool.close(),
  }
}

class EmbeddedDatabase implements Database {
  readonly #session: ThreadSession<Request, Reply>
  readonly #database: number
  readonly #limits: StatementLimits
  #statements = 0

  constructor(session: ThreadSession<Request, Reply>, database: number, limits: StatementLimits) {
    this.#session = session
    this.#database = database
    this.#limits = limits
  }

  async execute(sql: string): Promise<StatementResult> {
    const limits = this.#limits
    const again = { ...limits, deadlineMs: againFactor * limits.deadlineMs }
    const request: Request = {
      kind: 'execute',
      database: this.#database,
      sql,
      ordinal: this.#statements++,
      limits,
    }
    const outcome = await this.#session.ask(request, limits.deadlineMs + graceMs, (reply) =>
      resultOf(reply)?.kind === 'done'
        ? { request: { ...request, limits: again }, allowedMs: again.deadlineMs + graceMs }
        : undefined,
    )
    if (outcome.kind === 'ended') return resultOfEnding(outcome.ending)
    return resultOf(outcome.reply) ?? unexpected(outcome)
  }

  async stateHash(tables: readonly TableData[]): Promise<StateHash | undefined> {
    const limits = this.#limits
    const outcome = await this.#session.ask(
      { kind: 'hash', database: this.#database, tables },
      limits.deadlineMs + graceMs,
    )
    // A view of the agent's that cannot be read is not the table that was asked for.
    if (outcome.kind === 'ended') return undefined
    return outcome.reply.kind === 'hashed' ? outcome.reply.hash : unexpected(outcome)
  }

  async close(): Promise<void> {
    this.#session.close()
  }
}

function resultOf(reply: Reply): StatementResult | undefined {
  return reply.kind === 'executed' ? reply.result : undefined
}

/** Memory is shared by the databases of a thread. */
function isOutOfMemory(reply: Reply): boolean {
  const result = resultOf(reply)
  return result?.kind === 'failed' && result.failure.code === outOfMemory.code
}

function resultOfEnding(ending: Ending): StatementResult {
  switch (ending) {
    case 'out of time':
      return { kind: 'timed_out' }
    case 'out of memory':
      return { kind: 'failed', failure: outOfMemory }
    case 'broken':
      return { kind: 'failed', failure: lostConnection }
  }
}

function unexpected(outcome: Outcome<Reply>): never {
  const answer = outcome.kind === 'reply' ? outcome.reply.kind : outcome.ending
  throw new EnvironmentFault('backend', `embedded database: answered by "${answer}"`)
}
