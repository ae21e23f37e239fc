/**
 * Statements of every turn in PostgreSQL: one transaction for all writes that come together, with one insert per table.
 *
 * Invariants: those of `storage/sqlite/statements.ts` (STATEMENT-1 to 3), and
 * - [POSTGRES-STATEMENT-1] One write of a key returns that it was first, and all others that they were not, whichever process they are of.
 * - Rows are sorted by key, and tables by name: two processes never wait for each other in a circle.
 * - [POSTGRES-STATEMENT-2] Rows of a numbered table get their numbers in the order in which they are committed: a reader that has seen a
 *   number never misses a smaller one. A lock that lasts until the commit does this.
 * - Text in PostgreSQL holds no NUL: it is stored as U+FFFD.
 */
import { type CompiledQuery, type IdentifierNode, InsertQueryNode } from 'kysely'
import type { StorageFault } from '../disk/fault.ts'
import type { Statements } from '../tables/backend.ts'
import { collectWrites } from '../tables/collected-writes.ts'
import type { Line } from './client.ts'

/** Columns and key of a table, from the catalog. */
export interface TableShape {
  /** Type of each column by name. */
  readonly types: ReadonlyMap<string, string>
  readonly key: readonly string[]
  readonly isNumbered: boolean
}

/** An insert of one row that does nothing where its key is. */
interface Insertion {
  readonly table: string
  readonly text: string
  /** Positions of the key among the parameters. */
  readonly key: readonly number[]
  readonly columns: number
  readonly isNumbered: boolean
}

interface Write {
  readonly text: string
  readonly insertion: Insertion | undefined
  readonly parameters: readonly unknown[]
  readonly resolve: (changes: number) => void
  readonly reject: (fault: StorageFault) => void
}

/** One statement of a transaction, for one write or for all inserts of a table. */
interface Step {
  readonly text: string
  readonly values: readonly unknown[]
  readonly isNumbered: boolean
  /** @returns the changes of each of its writes */
  readonly settle: (result: Awaited<ReturnType<Line['query']>>) => readonly (readonly [Write, number])[]
}

const numbersLock = `select pg_advisory_xact_lock(hashtextextended('perdure ' || current_schema(), 2))`

export function createStatements(of: {
  /** Only for writes. */
  readonly writer: Line
  readonly reader: Line
  readonly tables: ReadonlyMap<string, TableShape>
}): Statements {
  const { writer, reader, tables } = of
  const insertions = new Map<string, Insertion | undefined>()
  const collected = collectWrites(commitAll)

  function insertionOf(query: CompiledQuery): Insertion | undefined {
    if (!insertions.has(query.sql)) insertions.set(query.sql, readInsertion(query, tables))
    return insertions.get(query.sql)
  }

  async function commitAll(writes: readonly Write[]): Promise<void> {
    try {
      await transact(writer, stepsOf(writes))
    } catch (error) {
      if (writes.length === 1) writes[0]?.reject(error as StorageFault)
      else await commitEach(writes)
    }
  }

  /** Once the server cannot be reached, those after it do not wait for it in turn. */
  async function commitEach(writes: readonly Write[]): Promise<void> {
    let lost: StorageFault | undefined
    for (const write of writes) {
      if (lost !== undefined) {
        write.reject(lost)
        continue
      }
      try {
        await transact(writer, stepsOf([write]))
      } catch (error) {
        const fault = error as StorageFault
        write.reject(fault)
        if (fault.kind === 'io' || fault.kind === 'locked') lost = fault
      }
    }
  }

  return {
    async all<R>(query: CompiledQuery<R>, parameters: readonly unknown[]) {
      return (await reader.query(query.sql, parameters)).rows as R[]
    },

    async first<R>(query: CompiledQuery<R>, parameters: readonly unknown[]) {
      return (await reader.query(query.sql, parameters)).rows[0] as R | undefined
    },

    write(query, parameters) {
      const { promise, resolve, reject } = Promise.withResolvers<number>()
      collected.add({
        text: query.sql,
        insertion: insertionOf(query),
        parameters: parameters.map(withoutNul),
        resolve,
        reject,
      })
      return promise
    },

    settled: () => collected.settled(),
  }
}

/** @throws the fault of the first statement that failed; nothing of the transaction remains then */
async function transact(line: Line, steps: readonly Step[]): Promise<void> {
  const [only] = steps
  const isAlone = steps.length === 1 && only !== undefined && !only.isNumbered
  const begin = isAlone ? [] : [line.query('begin')]
  const lock = steps.some(({ isNumbered }) => isNumbered) ? [line.query(numbersLock)] : []
  const sent = steps.map(({ text, values }) => line.query(text, values))
  // A transaction in which a statement failed is rolled back by its commit.
  const end = isAlone ? [] : [line.query('commit')]
  const settled = await Promise.allSettled([...begin, ...lock, ...sent, ...end])
  for (const each of settled) if (each.status === 'rejected') throw each.reason
  const results = await Promise.all(sent)
  for (const [index, step] of steps.entries()) {
    const result = results[index]
    if (result !== undefined) for (const [write, changes] of step.settle(result)) write.resolve(changes)
  }
}

function stepsOf(writes: readonly Write[]): readonly Step[] {
  const byTable = new Map<string, { readonly insertion: Insertion; readonly writes: Write[] }>()
  const others: Write[] = []
  for (const write of writes) {
    const { insertion } = write
    if (insertion === undefined) others.push(write)
    else {
      const group = byTable.get(insertion.text) ?? { insertion, writes: [] }
      group.writes.push(write)
      byTable.set(insertion.text, group)
    }
  }
  const inserts = [...byTable.values()]
    .sort((a, b) => compare(a.insertion.table, b.insertion.table))
    .map((group) => insertStep(group.insertion, group.writes))
  // Each of these writes changes one row, which its last parameter names.
  const changes = others
    .map((write) => ({ write, name: `${write.text} ${String(write.parameters.at(-1))}` }))
    .sort((a, b) => compare(a.name, b.name))
    .map(({ write }) => changeStep(write))
  return [...inserts, ...changes]
}

function changeStep(write: Write): Step {
  return {
    text: write.text,
    values: write.parameters,
    isNumbered: false,
    settle: ({ rowCount }) => [[write, rowCount ?? 0]],
  }
}

function insertStep(insertion: Insertion, writes: readonly Write[]): Step {
  const keyed = writes
    .map((write) => ({ write, key: insertion.key.map((at) => String(write.parameters[at])).join('\0') }))
    .sort((a, b) => compare(a.key, b.key))
  return {
    text: insertion.text,
    values: Array.from({ length: insertion.columns }, (_, column) =>
      keyed.map(({ write }) => write.parameters[column]),
    ),
    isNumbered: insertion.isNumbered,
    settle({ rows }) {
      const first = new Set(rows.map((row) => Object.values(row).map(String).join('\0')))
      return keyed.map(({ write, key }) => [write, first.delete(key) ? 1 : 0] as const)
    },
  }
}

/** The text that inserts many rows at once, for a query that inserts one; undefined for any other query. */
function readInsertion(
  { query }: CompiledQuery,
  tables: ReadonlyMap<string, TableShape>,
): Insertion | undefined {
  if (!InsertQueryNode.is(query) || query.onConflict?.doNothing !== true || query.into === undefined)
    return undefined
  const table = nameIn(query.into.table.identifier)
  const shape = tables.get(table)
  const columns = (query.columns ?? []).map(({ column }) => nameIn(column))
  if (shape === undefined || columns.length === 0) return undefined
  const types = columns.map((column) => shape.types.get(column))
  const arrays = types.map((type, index) => `$${index + 1}::${type}[]`)
  const quoted = (list: readonly string[]) => list.map((name) => `"${name}"`).join(', ')
  return {
    table,
    text: `insert into "${table}" (${quoted(columns)}) select * from unnest(${arrays.join(', ')}) on conflict do nothing returning ${quoted(shape.key)}`,
    key: shape.key.map((name) => columns.indexOf(name)),
    columns: columns.length,
    isNumbered: shape.isNumbered,
  }
}

function nameIn(node: IdentifierNode): string {
  return node.name
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function withoutNul(value: unknown): unknown {
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value
}
