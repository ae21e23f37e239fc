/**
 * Evaluations: the success of one checkpoint over one suite.
 *
 * Invariants
 * - A complete result is written once. An incomplete one is kept until the evaluation is begun again and has ended again.
 * - An evaluation that was given up keeps the reason until it is begun again; one with a result has no reason.
 */
import { type Kysely, type Selectable, sql } from 'kysely'
import type { EpisodeId, EvaluationId, RunId } from '../../identity/identity.ts'
import { isComplete, type LostEpisodes } from '../../learning/evaluation/evaluation-completeness.ts'
import { type JudgedFigure, judgedFigure } from '../../learning/evaluation/judgement.ts'
import type { MeasureFigures } from '../../learning/evaluation/measure.ts'
import { insertOnce, jsonOf, type Precedence, precedenceOf } from '../tables/codec.ts'
import type { EvaluationsTable, Schema } from '../tables/schema.ts'

export interface NewEvaluation {
  readonly id: EvaluationId
  readonly run: RunId
  readonly suite: string
  readonly version: number
  readonly seed: number
  readonly created: number
}

export interface EvaluationResult {
  /** Share of the n episodes that succeeded, in [0, 1]. */
  readonly success: number
  readonly n: number
  /** Episodes that were to be played. */
  readonly planned: number
  readonly lost: LostEpisodes
  readonly episodes: readonly EpisodeId[]
  /** JSON object with further figures. */
  readonly statistics: Readonly<Record<string, unknown>>
  readonly ended: number
}

/** Further figures of a result. */
export interface SuiteFigures {
  readonly instances?: number
  /** Absent in results of builds before 0.1.0. */
  readonly measures?: MeasureFigures
  /** The suite's measure; absent where it is success. */
  readonly judgedBy?: string
  /** 95 % interval of the success. */
  readonly interval?: { readonly low: number; readonly high: number }
  /** By k, where instances have several samples. */
  readonly passAt?: Readonly<Record<string, number>>
  readonly passAtIntervals?: Readonly<
    Record<string, { readonly value: number; readonly low: number; readonly high: number }>
  >
}

export interface StoredEvaluation extends NewEvaluation {
  /** Absent while it is played for the first time. */
  readonly result?: EvaluationResult
  /** It is being played again; until that has ended the result is the earlier, incomplete one. */
  readonly isPlayedAgain?: true
  /** Why it was given up, in words. */
  readonly failure?: string
}

/** Short result of an evaluation. */
export interface EvaluationFindings extends Pick<SuiteFigures, 'interval' | 'passAt'> {
  readonly suite: string
  readonly version: number
  readonly success: number
  readonly measured?: JudgedFigure | undefined
  readonly n: number
  readonly planned: number
  readonly lost: LostEpisodes
}

/** All evaluations of a run that have ended, in short. */
export interface RunFindings {
  /** In the order in which they started. */
  readonly found: readonly EvaluationFindings[]
  /** Evaluations that were given up, with the reason. */
  readonly failed: readonly { readonly suite: string; readonly version: number; readonly reason: string }[]
}

/** Short result of a stored evaluation; undefined while it has not ended. */
export function summaryOf(stored: StoredEvaluation | undefined): EvaluationFindings | undefined {
  if (stored?.result === undefined) return undefined
  const { suite, version, result } = stored
  const { success, n, planned, lost, statistics } = result
  return findingsOf({ suite, version, success, n, planned, lost }, statistics)
}

function findingsOf(
  figures: EvaluationFindings,
  { interval, passAt, measures, judgedBy = 'success' }: SuiteFigures,
): EvaluationFindings {
  const measured = judgedFigure(judgedBy, measures)
  return {
    ...figures,
    ...(measured === undefined ? {} : { measured }),
    ...(passAt === undefined || interval === undefined ? {} : { interval, passAt }),
  }
}

export interface EvaluationCounts {
  readonly begun: number
  /** With a result, and not being repeated. */
  readonly ended: number
  /** Given up, and not begun again. */
  readonly failed: number
}

export interface Evaluations {
  /** Restarts an evaluation that was given up or whose result is incomplete. */
  insert(evaluation: NewEvaluation): Promise<Precedence>
  /** Writes the result of an inserted evaluation. */
  complete(id: EvaluationId, result: EvaluationResult): Promise<Precedence>
  /** Gives up an inserted evaluation that is being played; a result of an earlier time stays. */
  fail(id: EvaluationId, reason: string): Promise<void>
  get(id: EvaluationId): Promise<StoredEvaluation | undefined>
  /** Versions of evaluations that started since then, have not ended and were not given up. */
  unfinished(run: RunId, since: number): Promise<number[]>
  /** Short results of all evaluations of a run, without their episodes. */
  findings(run: RunId): Promise<RunFindings>
  /** How many evaluations each run has, by what came of them; a run without any is left out. */
  counts(): Promise<ReadonlyMap<RunId, EvaluationCounts>>
  /** In the order in which they started. */
  list(run: RunId): Promise<StoredEvaluation[]>
}

export function createEvaluations(db: Kysely<Schema>): Evaluations {
  return {
    insert: (evaluation) => insertEvaluation(db, evaluation),

    async complete(id, { success, n, planned, lost, episodes, statistics, ended }) {
      const result = await db
        .updateTable('evaluations')
        .set({
          success,
          n,
          planned,
          lost: JSON.stringify(lost),
          episodes: JSON.stringify(episodes),
          statistics: JSON.stringify(statistics),
          ended,
          failure: null,
        })
        .where('id', '=', id)
        .where('ended', 'is', null)
        .executeTakeFirst()
      return precedenceOf(result.numUpdatedRows)
    },

    async fail(id, failure) {
      await db
        .updateTable('evaluations')
        .set({
          failure: sql`case when success is null then ${failure} end`,
          ended: sql`case when success is null then null else created end`,
        })
        .where('id', '=', id)
        .where('ended', 'is', null)
        .execute()
    },

    async get(id) {
      const row = await db.selectFrom('evaluations').selectAll().where('id', '=', id).executeTakeFirst()
      return row === undefined ? undefined : evaluationOf(row)
    },

    async unfinished(run, since) {
      const rows = await db
        .selectFrom('evaluations')
        .select('version')
        .distinct()
        .where('run', '=', run)
        .where('ended', 'is', null)
        .where('failure', 'is', null)
        .where('created', '>=', since)
        .execute()
      return rows.map(({ version }) => version)
    },

    findings: (run) => findingsIn(db, run),

    async counts() {
      const rows = await db
        .selectFrom('evaluations')
        .select((select) => [
          'run',
          select.fn.countAll<number>().as('begun'),
          select.fn.count<number>('ended').as('ended'),
          select.fn.count<number>('failure').as('failed'),
        ])
        .groupBy('run')
        .execute()
      return new Map(
        rows.map(({ run, begun, ended, failed }) => [
          run as RunId,
          { begun: Number(begun), ended: Number(ended), failed: Number(failed) },
        ]),
      )
    },

    async list(run) {
      const rows = await db
        .selectFrom('evaluations')
        .selectAll()
        .where('run', '=', run)
        .orderBy('created')
        .orderBy('id')
        .execute()
      return rows.map(evaluationOf)
    },
  }
}

async function insertEvaluation(db: Kysely<Schema>, evaluation: NewEvaluation): Promise<Precedence> {
  const precedence = await insertOnce(db.insertInto('evaluations').values(evaluation))
  if (precedence === 'already' && (await isToBeginAgain(db, evaluation.id)))
    await db
      .updateTable('evaluations')
      .set({ failure: null, ended: null, created: evaluation.created })
      .where('id', '=', evaluation.id)
      .execute()
  return precedence
}

async function isToBeginAgain(db: Kysely<Schema>, id: EvaluationId): Promise<boolean> {
  const row = await db
    .selectFrom('evaluations')
    .select(['n', 'planned', 'ended', 'failure'])
    .where('id', '=', id)
    .executeTakeFirst()
  if (row === undefined) return false
  const { n, planned, ended, failure } = row
  if (n === null || planned === null || ended === null) return failure !== null
  return failure !== null || !isComplete({ n, planned })
}

async function findingsIn(db: Kysely<Schema>, run: RunId): Promise<RunFindings> {
  const rows = await db
    .selectFrom('evaluations')
    .select(['id', 'suite', 'version', 'success', 'n', 'planned', 'lost', 'statistics', 'failure'])
    .where('run', '=', run)
    .where((or) => or.or([or('success', 'is not', null), or('failure', 'is not', null)]))
    .orderBy('created')
    .orderBy('id')
    .execute()
  return {
    found: rows.flatMap(({ id, suite, version, success, n, planned, lost, statistics }) =>
      success === null || n === null || planned === null
        ? []
        : [
            findingsOf(
              { suite, version, success, n, planned, lost: lostOf(id, lost) },
              jsonOf(statistics ?? '', `evaluation ${id}: statistics`),
            ),
          ],
    ),
    failed: rows.flatMap(({ suite, version, failure: reason }) =>
      reason === null ? [] : [{ suite, version, reason }],
    ),
  }
}

function evaluationOf(row: Selectable<EvaluationsTable>): StoredEvaluation {
  const { suite, version, seed, created, success, n, planned, lost, ended, failure } = row
  const subject = `evaluation ${row.id}`
  return {
    id: row.id as EvaluationId,
    run: row.run as RunId,
    suite,
    version,
    seed,
    created,
    ...(failure === null ? {} : { failure }),
    ...(success !== null && ended === null ? { isPlayedAgain: true } : {}),
    ...(success === null || n === null || planned === null
      ? {}
      : {
          result: {
            success,
            n,
            planned,
            lost: lostOf(row.id, lost),
            ended: ended ?? created,
            episodes: jsonOf<EpisodeId[]>(row.episodes ?? '', `${subject}: episodes`),
            statistics: jsonOf<Record<string, unknown>>(row.statistics ?? '', `${subject}: statistics`),
          },
        }),
  }
}

function lostOf(id: string, lost: string | null): LostEpisodes {
  return lost === null ? {} : jsonOf<LostEpisodes>(lost, `evaluation ${id}: lost`)
}
