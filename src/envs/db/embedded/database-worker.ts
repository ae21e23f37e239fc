/**
 * A thread that holds databases and answers requests about them, one after another.
 *
 * Invariants
 * - Every request is answered once, in order; what it cannot do is answered as a fault.
 */
import { parentPort } from 'node:worker_threads'
import { reasonOf } from '../../../reason.ts'
import type { StatementLimits, StatementResult } from '../database.ts'
import type { StateHash, TableData } from '../item.ts'
import type { EngineDatabase } from './engine.ts'
import { createEngine } from './engine.ts'

/** What a thread is asked; `database` is the session's number. */
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
      readonly limits: StatementLimits
    }
  | { readonly kind: 'close'; readonly database: number }

/** What it answers. */
export type Reply =
  | { readonly kind: 'opened' }
  | { readonly kind: 'executed'; readonly result: StatementResult }
  | { readonly kind: 'hashed'; readonly hash: StateHash | undefined }
  | { readonly kind: 'closed' }
  | { readonly kind: 'fault'; readonly message: string }

const port = parentPort
if (port === null) throw new Error('database-worker runs in a thread')

const engine = createEngine()
const databases = new Map<number, EngineDatabase>()
let answered = Promise.resolve()

port.on('message', (request: Request) => {
  // SQLite is loaded once; after that nothing waits.
  answered = answered.then(async () => port.postMessage(await answer(request)))
})

async function answer(request: Request): Promise<Reply> {
  try {
    return reply(await engine, request)
  } catch (error) {
    return { kind: 'fault', message: reasonOf(error) }
  }
}

function reply({ open }: Awaited<typeof engine>, request: Request): Reply {
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
  if (database === undefined) return { kind: 'fault', message: `database ${request.database} is not open` }
  if (request.kind === 'execute')
    return { kind: 'executed', result: database.execute(request.sql, request.ordinal, request.limits) }
  return { kind: 'hashed', hash: database.stateHash(request.tables, request.limits) }
}
