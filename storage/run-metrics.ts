/**
 * The metrics of runs in the store, and `metrics.jsonl`, which is made of them.
 *
 * Invariants
 * - [METRICS-1] An update's step, an evaluation's id and a roll-back's version are in one line, however often they
 *   are put and by however many processes.
 * - [METRICS-2] The file holds the lines of the store, by update: its writer holds the store's lock meanwhile, and
 *   makes all of it whatever it was before. What a killed process left torn is completed by the next one.
 * - [METRICS-3] A line that readers could not understand is never kept.
 * - [METRICS-4] Lines of a file that an earlier release wrote are taken into the store before the file is made again.
 */
import {
  closeSync,
  constants,
  copyFileSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type Kysely, sql } from 'kysely'
import type { RunId } from '../identity/identity.ts'
import { type Precedence, precedenceOf } from './codec.ts'
import { StorageFault, storageFaultOf } from './fault.ts'
import {
  checkMetrics,
  isEvaluationMetrics,
  isUpdateMetrics,
  type MetricsLine,
  parseMetrics,
  placeOf,
} from './metrics.ts'
import type { Schema } from './schema.ts'

/** Lines that came after a mark. */
export interface NewMetrics {
  readonly lines: readonly MetricsLine[]
  /** Asks for what comes after these. */
  readonly mark: number
}

export interface RunMetrics {
  /** Keeps a line. @throws RangeError a figure that is missing, not finite or out of bounds, by name */
  put(run: RunId, line: MetricsLine): Promise<Precedence>
  /** In the order of the file. */
  list(run: RunId): Promise<MetricsLine[]>
  /** In the order in which they came; all of them for mark 0. */
  after(run: RunId, mark: number): Promise<NewMetrics>
  /** Takes over what only a file of an earlier release holds. */
  adopt(run: RunId, file: string): Promise<void>
  /** Makes the file hold what the store does. @throws StorageFault */
  write(run: RunId, file: string): Promise<void>
  /** In the order of the file, with those that `adopt` would take over. */
  listWith(run: RunId, file: string): Promise<MetricsLine[]>
  /** Whether the file holds those lines and nothing else. */
  isWritten(run: RunId, file: string): Promise<boolean>
}

export function createRunMetrics(db: Kysely<Schema>): RunMetrics {
  return {
    put: (run, line) => put(db, run, line),

    async list(run) {
      return (await texts(db, run)).map((text) => lineOf(text, run))
    },

    async after(run, mark) {
      const rows = await db
        .selectFrom('metrics')
        .select(['line', sql<number>`rowid`.as('mark')])
        .where('run', '=', run)
        .where(sql<number>`rowid`, '>', mark)
        .orderBy(sql`rowid`)
        .execute()
      return { lines: rows.map(({ line }) => lineOf(line, run)), mark: rows.at(-1)?.mark ?? mark }
    },

    async adopt(run, file) {
      for (const line of await strangers(db, run, contentOf(file))) await put(db, run, line)
    },

    async write(run, file) {
      // A transaction holds the store for itself, among all processes: no one else writes the file meanwhile.
      await db.transaction().execute(async (alone) => {
        const found = contentOf(file)
        if (addMissing(file, found, await contentFor(alone, run))) return
        for (const line of await strangers(alone, run, found)) await put(alone, run, line)
        replace(file, found, await contentFor(alone, run))
      })
    },

    listWith: async (run, file) => (await entriesWith(db, run, contentOf(file))).map(({ line }) => line),

    async isWritten(run, file) {
      const found = contentOf(file)
      const entries = await entriesWith(db, run, found)
      return found?.equals(asFile(entries.map(({ text }) => text))) ?? entries.length === 0
    },
  }
}

/** A line and its text: what is kept keeps the order of its keys. */
interface Entry {
  readonly line: MetricsLine
  readonly text: string
}

async function entriesWith(
  db: Kysely<Schema>,
  run: RunId,
  content: Buffer | undefined,
): Promise<readonly Entry[]> {
  const known = (await texts(db, run)).map((text) => ({ line: lineOf(text, run), text }))
  const adopted = (await strangers(db, run, content)).map((line) => ({ line, text: JSON.stringify(line) }))
  return [...known, ...adopted].sort((a, b) => byPlace(a.line, b.line))
}

function byPlace(a: MetricsLine, b: MetricsLine): number {
  const [one, other] = [placeOf(a), placeOf(b)]
  return (
    one.version - other.version ||
    one.rank - other.rank ||
    one.number - other.number ||
    (one.key < other.key ? -1 : 1)
  )
}

async function put(db: Kysely<Schema>, run: RunId, line: MetricsLine): Promise<Precedence> {
  checkMetrics(line)
  const result = await db
    .insertInto('metrics')
    .values({ run, ...placeOf(line), line: JSON.stringify(line) })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return precedenceOf(result.numInsertedOrUpdatedRows)
}

async function texts(db: Kysely<Schema>, run: RunId): Promise<string[]> {
  const rows = await db
    .selectFrom('metrics')
    .select('line')
    .where('run', '=', run)
    .orderBy('version')
    .orderBy('rank')
    .orderBy('number')
    .orderBy('key')
    .execute()
  return rows.map(({ line }) => line)
}

function lineOf(text: string, run: RunId): MetricsLine {
  const line = parseMetrics(text)
  if (line === undefined) throw new StorageFault('corrupt', `a metrics line of run ${run} cannot be read`)
  return line
}

function asFile(lines: readonly string[]): Buffer {
  return Buffer.from(lines.map((line) => `${line}\n`).join(''))
}

async function contentFor(db: Kysely<Schema>, run: RunId): Promise<Buffer> {
  return asFile(await texts(db, run))
}

/** Undefined where there is no file. */
function contentOf(file: string): Buffer | undefined {
  try {
    return readFileSync(file)
  } catch (error) {
    const fault = storageFaultOf(error, `metrics ${file}`)
    if (fault.kind === 'missing') return undefined
    throw fault
  }
}

/**
 * Lines of a file that the store lacks, though it knows what they tell of. Those of work that it does not know are of
 * another time: the run does that work again.
 */
async function strangers(
  db: Kysely<Schema>,
  run: RunId,
  content: Buffer | undefined,
): Promise<MetricsLine[]> {
  if (content === undefined) return []
  const rows = await db.selectFrom('metrics').select('key').where('run', '=', run).execute()
  const known = new Set(rows.map(({ key }) => key))
  const found: MetricsLine[] = []
  for (const text of content.toString('utf8').split('\n')) {
    const line = parseMetrics(text)
    if (line === undefined || known.has(placeOf(line).key)) continue
    known.add(placeOf(line).key)
    if (await isOfStore(db, run, line)) found.push(line)
  }
  return found
}

async function isOfStore(db: Kysely<Schema>, run: RunId, line: MetricsLine): Promise<boolean> {
  if (isUpdateMetrics(line)) {
    const update = await db
      .selectFrom('updates')
      .select('version')
      .where('run', '=', run)
      .where('step', '=', line.step)
      .executeTakeFirst()
    return update?.version === line.version
  }
  if (isEvaluationMetrics(line)) {
    const evaluation = await db
      .selectFrom('evaluations')
      .select('ended')
      // Earlier releases wrote the run into the line.
      .where('id', 'in', [line.evaluation, `${run}/${line.evaluation}`])
      .executeTakeFirst()
    return evaluation?.ended != null
  }
  const published = await db.selectFrom('runs').select('version').where('id', '=', run).executeTakeFirst()
  return (published?.version ?? -1) >= line.version
}

/** Readers that follow the file see it grow. @returns false where it does not begin with what it should hold */
function addMissing(file: string, found: Buffer | undefined, wanted: Buffer): boolean {
  if (found === undefined || !wanted.subarray(0, found.byteLength).equals(found)) return false
  if (found.byteLength === wanted.byteLength) return true
  try {
    const descriptor = openSync(file, constants.O_WRONLY)
    try {
      for (let done = found.byteLength; done < wanted.byteLength; )
        done += writeSync(descriptor, wanted, done, wanted.byteLength - done, done)
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
  } catch (error) {
    throw storageFaultOf(error, `metrics ${file}`)
  }
  return true
}

/** Writes beside and renames; a file with lines that are lost by it is kept under another name. */
function replace(file: string, found: Buffer | undefined, wanted: Buffer): void {
  const beside = join(dirname(file), `.${basename(file)}.partial`)
  try {
    if (found !== undefined && losesLines(found, wanted)) copyFileSync(file, `${file}.replaced`)
    writeFileSync(beside, wanted, { flush: true })
    renameSync(beside, file)
  } catch (error) {
    throw storageFaultOf(error, `metrics ${file}`)
  }
}

function losesLines(found: Buffer, wanted: Buffer): boolean {
  const kept = new Set(wanted.toString('utf8').split('\n'))
  return found
    .toString('utf8')
    .split('\n')
    .some((text) => !kept.has(text) && parseMetrics(text) !== undefined)
}
