/**
 * The metrics of runs in the store, and `metrics.jsonl`, which is made of them.
 *
 * Invariants
 * - [METRICS-1] An update's step, an evaluation's id and a roll-back's version are in one line, however often they
 *   are put and by however many processes.
 * - [METRICS-2] The file holds the lines of the store, by update: its writer holds the store's lock meanwhile, and
 *   makes all of it whatever it was before. What a killed process left torn is completed by the next one.
 * - [METRICS-3] A line that readers could not understand is never kept.
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
import { insertOnce, type Precedence } from './codec.ts'
import { StorageFault, storageFaultOf } from './fault.ts'
import { checkMetrics, type MetricsLine, parseMetrics, placeOf } from './metrics.ts'
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
  /** Makes the file hold what the store does. @throws StorageFault */
  write(run: RunId, file: string): Promise<void>
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

    async write(run, file) {
      // A transaction holds the store for itself, among all processes: no one else writes the file meanwhile.
      await db.transaction().execute(async (alone) => {
        const [found, wanted] = [contentOf(file), await contentFor(alone, run)]
        if (!addMissing(file, found, wanted)) replace(file, found, wanted)
      })
    },

    async isWritten(run, file) {
      const wanted = await contentFor(db, run)
      return contentOf(file)?.equals(wanted) ?? wanted.byteLength === 0
    },
  }
}

async function put(db: Kysely<Schema>, run: RunId, line: MetricsLine): Promise<Precedence> {
  checkMetrics(line)
  return insertOnce(db.insertInto('metrics').values({ run, ...placeOf(line), line: JSON.stringify(line) }))
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

/** What the file of a run should hold. */
async function contentFor(db: Kysely<Schema>, run: RunId): Promise<Buffer> {
  return Buffer.from((await texts(db, run)).map((line) => `${line}\n`).join(''))
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
