/**
 * The backend of a store at an address: a schema of a PostgreSQL database.
 *
 * Invariants
 * - A process uses at most `2 + pooled` connections to a store for writing, and as many to one that it only reads.
 * - [POSTGRES-LOCK-1] A transaction of Kysely's has the store for itself among those of all processes, as in SQLite.
 * - A copy of the store (a restored dump, a clone of the database, a renamed schema) is another store: the place is a part of its name.
 */
import { CompiledQuery, Kysely, PostgresDialect, PostgresDriver, sql } from 'kysely'
import { addressOf } from '../disk/address.ts'
import { StorageFault } from '../disk/fault.ts'
import type { Backend, Connection, Terms } from '../tables/backend.ts'
import type { Schema } from '../tables/schema.ts'
import { type Line, openLine, openPool } from './client.ts'
import { isCurrent, migrate } from './migrations.ts'
import { createStatements, type TableShape } from './statements.ts'

/** Records, leases and reports: a few at once. */
const pooled = 4

export const postgresBackend: Backend = {
  exists: (place) => onLine(place, isMade),
  // That objects of runs are there without their rows cannot be seen from the database.
  lost: async () => undefined,
  readsApart: async (place) => !(await postgresBackend.isWritable(place)),
  connect: async (place) => connectTo(place, (line, schema) => migrate(line, place, schema)),
  connectForReading: async (place) =>
    connectTo(place, async (line, schema) => {
      if (await isCurrent(line, place, schema)) return
      throw new StorageFault(
        'no_permission',
        `store ${place} is of an earlier release, and is only read here: open it once with a role that may write, e.g. \`perdure doctor --repair\``,
      )
    }),
  isCurrent: (place) => onLine(place, (line, schema) => isCurrent(line, place, schema)),
  isWritable: (place) => onLine(place, isWritable),
  bytes: (place) =>
    onLine(place, async (line, schema) => {
      const { rows } = await line.query(
        `select coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint as bytes
          from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relkind = 'r'`,
        [schema],
      )
      return Number(rows[0]?.bytes)
    }),
}

/** Asks over a connection of its own. */
async function onLine<Result>(
  place: string,
  ask: (line: Line, schema: string) => Promise<Result>,
): Promise<Result> {
  const line = await openLine(place)
  try {
    return await ask(line, addressOf(place).schema)
  } finally {
    await line.close()
  }
}

async function isMade(line: Line, schema: string): Promise<boolean> {
  const { rows } = await line.query(`select to_regclass($1) is not null as found`, [
    `"${schema}".lease_scope`,
  ])
  return rows[0]?.found === true
}

/** A role that may write rows may write the store. */
async function isWritable(line: Line, schema: string): Promise<boolean> {
  const { rows } = await line.query(
    `select case when to_regclass($1) is null then true else has_table_privilege($1, 'insert') end
      and not pg_is_in_recovery() as writable`,
    [`"${schema}".runs`],
  )
  return rows[0]?.writable === true
}

async function scopeIn(line: Line, place: string): Promise<string> {
  const { rows } = await line.query('select scope from lease_scope')
  if (rows[0] === undefined)
    throw new StorageFault('missing', `store ${place} has lost its name; restore it from a backup`)
  return `${String(rows[0].scope)} ${await originalOf(line)}`
}

/** The cluster, the database and the schema, by what none of their copies has. */
async function originalOf(line: Line): Promise<string> {
  const { rows } = await line.query(
    `select (select system_identifier::text from pg_control_system()) as cluster,
      (select oid::text from pg_database where datname = current_database()) as database,
      (select oid::text from pg_namespace where nspname = current_schema()) as schema`,
  )
  const [row] = rows
  return `${String(row?.cluster)}:${String(row?.database)}:${String(row?.schema)}`
}

async function connectTo(
  place: string,
  prepare: (line: Line, schema: string) => Promise<void>,
): Promise<Connection> {
  const { schema } = addressOf(place)
  await using opened = new AsyncDisposableStack()
  const writer = opened.adopt(await openLine(place), (line) => line.close())
  await prepare(writer, schema)
  const reader = opened.adopt(await openLine(place), (line) => line.close())
  const pool = await openPool(place, pooled)
  const db = opened.adopt(
    new Kysely<Schema>({ dialect: new StoreDialect({ pool: pool as never }) }),
    (each) => each.destroy(),
  )
  const statements = createStatements({ writer, reader, tables: await shapesIn(writer, schema) })
  const original = await originalOf(writer)
  const all = opened.move()
  return {
    db,
    statements,
    terms: termsOver(reader),
    original,
    // A commit returns when it is on the disk.
    flush: async () => undefined,
    // The server's autovacuum does this by itself.
    shrink: async () => 0,
    identity: () => scopeIn(reader, place),
    async close() {
      await statements.settled()
      await all.disposeAsync()
    },
  }
}

function termsOver(reader: Line): Terms {
  return {
    // The highest number alone stays the same when a transaction that began earlier is committed later.
    changeMark: async () => {
      const { rows } = await reader.query('select pg_current_snapshot()::text as mark')
      return String(rows[0]?.mark)
    },
    numbersIn: (list) => sql<number>`(select value::bigint from json_array_elements_text(${list}::json))`,
    meanIn: (key) =>
      sql<
        number | null
      >`(select avg(value::double precision) from json_each_text(line::json -> ${sql.lit(key)}))`,
    nextMetricsMark: sql<number>`default`,
  }
}

/** Columns, types and keys of the tables, from the catalog. */
async function shapesIn(line: Line, schema: string): Promise<ReadonlyMap<string, TableShape>> {
  const { rows } = await line.query(
    `select c.relname as "table", a.attname as "column", format_type(a.atttypid, null) as type,
      coalesce(array_position(i.indkey::int2[], a.attnum), -1)::int as place
      from pg_class c
      join pg_namespace n on n.oid = c.relnamespace
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      left join pg_index i on i.indrelid = c.oid and i.indisprimary
      where n.nspname = $1 and c.relkind = 'r' order by c.relname, place`,
    [schema],
  )
  const shapes = new Map<string, { types: Map<string, string>; key: string[]; isNumbered: boolean }>()
  for (const row of rows) {
    const [table, column] = [String(row.table), String(row.column)]
    const shape = shapes.get(table) ?? {
      types: new Map<string, string>(),
      key: [] as string[],
      isNumbered: false,
    }
    shape.types.set(column, String(row.type))
    if (Number(row.place) >= 0) shape.key.push(column)
    if (column === 'rowid') shape.isNumbered = true
    shapes.set(table, shape)
  }
  return shapes
}

const storeLock = CompiledQuery.raw(
  `select pg_advisory_xact_lock(hashtextextended('perdure ' || current_schema(), 1))`,
)

class StoreDriver extends PostgresDriver {
  override async beginTransaction(...[connection, settings]: Parameters<PostgresDriver['beginTransaction']>) {
    await super.beginTransaction(connection, settings)
    await connection.executeQuery(storeLock)
  }
}

class StoreDialect extends PostgresDialect {
  readonly #config: ConstructorParameters<typeof PostgresDialect>[0]

  constructor(config: ConstructorParameters<typeof PostgresDialect>[0]) {
    super(config)
    this.#config = config
  }

  override createDriver() {
    return new StoreDriver(this.#config)
  }
}
