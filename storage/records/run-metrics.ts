/**
 * The metrics of runs in the store, and `metrics.jsonl`, which is made of them.
 *
 * Invariants
 * - [METRICS-1] An update's step, an evaluation's id and a roll-back's version are in one line, however often they
 *   are put and by however many processes.
 * - [METRICS-2] The file holds the lines of the store, by update: its writer holds the store's lock meanwhile, and
 *   brings all of it up to date, whatever it held. The next process completes a line that a killed one left torn.
 * - [METRICS-3] A line that readers could not understand is never kept.
 * - [METRICS-4] A line that replaces another one comes after all others, so that readers which follow the lines see it.
 */
import { copyFileSync } from 'node:fs'
import { type Kysely, sql } from 'kysely'
import type { RunId } from '../../identity/identity.ts'
import { jsonLine } from '../../machine/files/shown-text.ts'
import { StorageFault } from '../disk/fault.ts'
import { contentOf, growFile } from '../disk/grown-file.ts'
import {
  checkMetrics,
  isEvaluationMetrics,
  type MetricsLine,
  parseMetrics,
  placeOf,
  replaces,
} from '../metrics/metrics.ts'
import type { Terms } from '../tables/backend.ts'
import { insertOnce, type Precedence } from '../tables/codec.ts'
import type { Schema } from '../tables/schema.ts'
import { type StoredRun, storedRun } from './runs.ts'

/** Lines that came after a mark. */
export interface NewMetrics {
  readonly lines: readonly MetricsLine[]
  /** Asks for what comes after these. */
  readonly mark: number
}

export interface RunMetrics {
  /** Keeps a line; 'already' where an earlier one of its key is kept. @throws RangeError a figure that is missing, not finite or out of bounds, by name */
  put(run: RunId, line: MetricsLine): Promise<Precedence>
  /** In the order of the file. */
  list(run: RunId): Promise<MetricsLine[]>
  /** In the order in which they came; all of them for mark 0. */
  after(run: RunId, mark: number): Promise<NewMetrics>
  /** Mean success over the tasks of each update, in the order of steps, without reading the lines. */
  successes(run: RunId): Promise<readonly number[]>
  /** Makes the file hold what the store does. @throws StorageFault */
  write(run: RunId, file: string): Promise<void>
  /** Calls with the run and its lines in the order in which they came; meanwhile no process changes either. */
  whileAlone(run: RunId, use: (run: StoredRun, lines: readonly MetricsLine[]) => void): Promise<void>
  /** Whether the file holds those lines and nothing else. */
  isWritten(run: RunId, file: string): Promise<boolean>
}

export function createRunMetrics(db: Kysely<Schema>, terms: Terms): RunMetrics {
  return {
    put: (run, line) => put(db, terms, run, line),

    async list(run) {
      return (await texts(db, run)).map((text) => lineOf(text, run))
    },

    after: (run, mark) => after(db, run, mark),

    async successes(run) {
      const rows = await db
        .selectFrom('metrics')
        .select(terms.meanIn('success').as('success'))
        .where('run', '=', run)
        .where('key', 'like', 'step %')
        .orderBy('number')
        .execute()
      return rows.flatMap(({ success }) => success ?? [])
    },

    async write(run, file) {
      // A transaction holds the store for itself, among all processes: no one else writes the file meanwhile.
      await db.transaction().execute(async (alone) => {
        const wanted = await contentFor(alone, run)
        growFile(file, wanted, {
          what: `metrics ${file}`,
          // A file with lines that are lost by it is kept under another name.
          beforeReplacing: (found) => {
            if (losesLines(found, wanted)) copyFileSync(file, `${file}.replaced`)
          },
        })
      })
    },

    async whileAlone(run, use) {
      await db.transaction().execute(async (alone) => {
        const stored = await storedRun(alone, run)
        if (stored !== undefined) use(stored, (await after(alone, run, 0)).lines)
      })
    },

    async isWritten(run, file) {
      const wanted = await contentFor(db, run)
      return contentOf(file, `metrics ${file}`)?.equals(wanted) ?? wanted.byteLength === 0
    },
  }
}

async function put(
  db: Kysely<Schema>,
  { nextMetricsMark }: Terms,
  run: RunId,
  line: MetricsLine,
): Promise<Precedence> {
  checkMetrics(line)
  const place = placeOf(line)
  const text = jsonLine(line)
  // Marks must come in the order of commits: a transaction has the store for itself.
  return db.transaction().execute(async (alone) => {
    const precedence = await insertOnce(alone.insertInto('metrics').values({ run, ...place, line: text }))
    if (precedence === 'first' || !isEvaluationMetrics(line)) return precedence
    const known = await alone
      .selectFrom('metrics')
      .select('line')
      .where('run', '=', run)
      .where('key', '=', place.key)
      .executeTakeFirst()
    if (known === undefined || !replaces(line, lineOf(known.line, run))) return 'already'
    await sql`update metrics set line = ${text}, rowid = ${nextMetricsMark}
      where run = ${run} and key = ${place.key}`.execute(alone)
    return 'first'
  })
}

async function after(db: Kysely<Schema>, run: RunId, mark: number): Promise<NewMetrics> {
  const rows = await db
    .selectFrom('metrics')
    .select(['line', sql<number>`rowid`.as('mark')])
    .where('run', '=', run)
    .where(sql<number>`rowid`, '>', mark)
    .orderBy(sql`rowid`)
    .execute()
  return { lines: rows.map(({ line }) => lineOf(line, run)), mark: rows.at(-1)?.mark ?? mark }
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

/** Content that the file of a run should have. */
async function contentFor(db: Kysely<Schema>, run: RunId): Promise<Buffer> {
  return Buffer.from((await texts(db, run)).map((line) => `${line}\n`).join(''))
}

function losesLines(found: Buffer, wanted: Buffer): boolean {
  const kept = new Map(linesOf(wanted).map((line) => [placeOf(line).key, line]))
  const keptTexts = new Set(wanted.toString('utf8').split('\n'))
  return found
    .toString('utf8')
    .split('\n')
    .some((text) => {
      const line = keptTexts.has(text) ? undefined : parseMetrics(text)
      if (line === undefined) return false
      const now = kept.get(placeOf(line).key)
      return now === undefined || !replaces(now, line)
    })
}

function linesOf(content: Buffer): readonly MetricsLine[] {
  return content
    .toString('utf8')
    .split('\n')
    .flatMap((text) => parseMetrics(text) ?? [])
}
