/**
 * A thread that holds databases and answers requests about them.
 *
 * Invariants
 * - A database is known by its number; nothing of it is left when it is closed.
 */
import { serveCalls } from '../../../machine/modules/thread-answers.ts'
import type {
  StateHash,
  StatementLimits,
  StatementResult,
  TableData,
} from '../../../worlds/mysql/database.ts'
import { createEngine, type EngineDatabase } from '../../../worlds/mysql/engine.ts'
import type { AnsweringMethods } from '../../threads/thread.ts'

/** Requests to a thread; `database` is the session's number. */
export type Request =
  | {
      readonly kind: 'open'
      readonly database: number
      readonly tables: readonly TableData[]
      readonly identity: string
    }
  | {
      readonly kind: 'execute'
      readonly database: number
      readonly sql: string
      readonly ordinal: number
      readonly limits: StatementLimits
    }
  | {
      readonly kind: 'hash'
      readonly database: number
      readonly tables: readonly TableData[]
    }
  | { readonly kind: 'close'; readonly database: number }

/** Its replies. */
export type Reply =
  | { readonly kind: 'opened' }
  | { readonly kind: 'executed'; readonly result: StatementResult }
  | { readonly kind: 'hashed'; readonly hash: StateHash | undefined }
  | { readonly kind: 'closed' }

const { open } = createEngine()
const databases = new Map<number, EngineDatabase>()
serveCalls<AnsweringMethods<Request, Reply>>({ answer: reply })

function reply(request: Request): Reply {
  const database = databases.get(request.database)
  if (request.kind === 'open') {
    databases.set(request.database, open(request.tables, request.identity))
    return { kind: 'opened' }
  }
  if (request.kind === 'close') {
    database?.close()
    databases.delete(request.database)
    return { kind: 'closed' }
  }
  if (database === undefined) throw new RangeError(`database ${request.database} is not open`)
  if (request.kind === 'execute')
    return { kind: 'executed', result: database.execute(request.sql, request.ordinal, request.limits) }
  return { kind: 'hashed', hash: database.stateHash(request.tables) }
}
