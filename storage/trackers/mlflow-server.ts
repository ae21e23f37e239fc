/**
 * A run on a tracking server of MLflow, by its REST interface.
 *
 * Invariants
 * - [TRACKING-SERVER-1] The server has each figure once, however often the sending was interrupted: before a process sends
 *   anything of a run, and after each call that failed, it asks what is there already.
 * - [TRACKING-SERVER-2] A run is found again by a tag that follows from its identity, wherever it is sent from.
 * - A parameter that was sent stays: MLflow changes none.
 * - Each call has a time limit, and the memory for runs between calls is bounded.
 */
import { z } from 'zod'
import { reasonOf } from '../../faults/reason.ts'
import { deadlineSignal } from '../../machine/services/clock.ts'
import { StorageFault } from '../disk/fault.ts'
import { type TrackedRun, trackedId } from './tracked-run.ts'

/** Limit of one call. A server on the same network answers in milliseconds. */
const callMs = 10_000

/** The server's limits of one request. */
const mostMetrics = 1000

const mostParameters = 100
const mostPoints = 25_000

/** Runs of which it is kept what was sent. */
const mostRuns = 64

const idTag = 'perdure.id'
const states = { running: 'RUNNING', done: 'FINISHED', failed: 'FAILED', stopped: 'KILLED' } as const

/** A figure as the server takes it. */
interface Metric {
  readonly key: string
  readonly value: number
  readonly timestamp: number
  readonly step: number
}

/** The part of a run that the server has. */
interface SentRun {
  readonly runId: string
  /** Rows of which it has all figures. */
  rows: number
  status: string
}

const experimentAnswer = z.object({ experiment: z.object({ experiment_id: z.string() }) })
const createdExperiment = z.object({ experiment_id: z.string() })

const runSchema = z.object({
  info: z.object({ run_id: z.string(), status: z.string().default('RUNNING') }),
  data: z
    .object({
      metrics: z.array(z.object({ key: z.string() })).default([]),
      params: z.array(z.object({ key: z.string() })).default([]),
    })
    .prefault({}),
})

const foundRuns = z.object({ runs: z.array(runSchema).default([]) })
const createdRun = z.object({ run: runSchema })

const historyAnswer = z.object({
  metrics: z.array(z.object({ step: z.coerce.number(), timestamp: z.coerce.number() })).default([]),
  next_page_token: z.string().optional(),
})

const refusalSchema = z.object({ error_code: z.string(), message: z.string().default('') })

/** By server and run. */
const sent = new Map<string, SentRun>()

/** Sends what the server lacks of a run. @param url of the server @throws StorageFault `io` */
export async function sendToMlflow(run: TrackedRun, url: string): Promise<void> {
  const server = serverAt(url)
  const key = `${url} ${trackedId(run)}`
  const known = sent.get(key) ?? (await meet(server, run))
  // Kept again only when all went well: after a failure the server is asked what it has.
  sent.delete(key)
  const metrics = run.rows.slice(known.rows).flatMap(metricsOf)
  await logAll(server, known.runId, metrics)
  known.rows = run.rows.length
  const status = states[run.status]
  if (known.status !== status) {
    const ending = run.ended === undefined || status === 'RUNNING' ? {} : { end_time: run.ended }
    await server.post(
      'runs/update',
      { run_id: known.runId, status, run_name: run.id, ...ending },
      z.unknown(),
    )
    known.status = status
  }
  sent.set(key, known)
  for (const oldest of sent.keys()) {
    if (sent.size <= mostRuns) break
    sent.delete(oldest)
  }
}

/** Finds the run or makes it, and sends what it lacks of the figures so far. */
async function meet(server: Server, run: TrackedRun): Promise<SentRun> {
  const experiment = await experimentOf(server)
  const { info, data } = (await findRun(server, experiment, run)) ?? (await makeRun(server, experiment, run))
  const runId = info.run_id
  const there = new Set(data.params.map(({ key }) => key))
  const lacking = parametersOf(run.config)
    .map(([key, value]) => ({ key: allowedName(key), value }))
    .filter(({ key }) => !there.has(key))
  for (let begin = 0; begin < lacking.length; begin += mostParameters)
    await server.post(
      'runs/log-batch',
      { run_id: runId, params: lacking.slice(begin, begin + mostParameters) },
      z.unknown(),
    )
  const wanted = Map.groupBy(run.rows.flatMap(metricsOf), ({ key }) => key)
  for (const { key } of data.metrics) {
    const points = wanted.get(key)
    if (points === undefined) continue
    const has = await pointsOf(server, runId, key)
    wanted.set(
      key,
      points.filter((point) => !has.has(pointName(point))),
    )
  }
  await logAll(server, runId, [...wanted.values()].flat())
  return { runId, rows: run.rows.length, status: info.status }
}

async function experimentOf(server: Server): Promise<string> {
  const find = () =>
    server.get('experiments/get-by-name', { experiment_name: experimentName }, experimentAnswer)
  try {
    return (await find()).experiment.experiment_id
  } catch (error) {
    if (!isRefusal(error, 'RESOURCE_DOES_NOT_EXIST')) throw error
  }
  try {
    return (await server.post('experiments/create', { name: experimentName }, createdExperiment))
      .experiment_id
  } catch (error) {
    // Another process was faster.
    if (!isRefusal(error, 'RESOURCE_ALREADY_EXISTS')) throw error
    return (await find()).experiment.experiment_id
  }
}

type FoundRun = z.output<typeof runSchema>

async function findRun(server: Server, experiment: string, run: TrackedRun): Promise<FoundRun | undefined> {
  const filter = `tags.\`${idTag}\` = '${trackedId(run)}'`
  const question = { experiment_ids: [experiment], filter, max_results: 1 }
  return (await server.post('runs/search', question, foundRuns)).runs[0]
}

async function makeRun(server: Server, experiment: string, run: TrackedRun): Promise<FoundRun> {
  const tags = [{ key: idTag, value: trackedId(run) }]
  const wish = { experiment_id: experiment, run_name: run.id, start_time: run.created, tags }
  return (await server.post('runs/create', wish, createdRun)).run
}

/** Names of the points that the server has of a metric. */
async function pointsOf(server: Server, runId: string, key: string): Promise<ReadonlySet<string>> {
  const has = new Set<string>()
  for (let page: string | undefined = ''; page !== undefined; ) {
    const asked = {
      run_id: runId,
      metric_key: key,
      max_results: `${mostPoints}`,
      ...(page === '' ? {} : { page_token: page }),
    }
    const answer: z.output<typeof historyAnswer> = await server.get(
      'metrics/get-history',
      asked,
      historyAnswer,
    )
    for (const point of answer.metrics) has.add(pointName(point))
    page = answer.next_page_token === '' ? undefined : answer.next_page_token
  }
  return has
}

function pointName({ step, timestamp }: Pick<Metric, 'step' | 'timestamp'>): string {
  return `${step} ${timestamp}`
}

function metricsOf({ step, time, scalars }: TrackedRun['rows'][number]): readonly Metric[] {
  return scalars.map(([name, value]) => ({ key: allowedName(name), value, timestamp: time, step }))
}

async function logAll(server: Server, runId: string, metrics: readonly Metric[]): Promise<void> {
  for (let begin = 0; begin < metrics.length; begin += mostMetrics)
    await server.post(
      'runs/log-batch',
      { run_id: runId, metrics: metrics.slice(begin, begin + mostMetrics) },
      z.unknown(),
    )
}

interface Server {
  get<Answer>(
    path: string,
    asked: Readonly<Record<string, string>>,
    schema: z.ZodType<Answer>,
  ): Promise<Answer>
  post<Answer>(path: string, body: object, schema: z.ZodType<Answer>): Promise<Answer>
}

function serverAt(url: string): Server {
  const root = `${url.replace(/\/+$/, '')}/api/2.0/mlflow/`
  async function call<Answer>(
    address: string,
    init: RequestInit,
    schema: z.ZodType<Answer>,
  ): Promise<Answer> {
    let response: Response
    let body: unknown
    try {
      response = await fetch(address, { ...init, signal: deadlineSignal(callMs) })
      body = await response.json().catch(() => undefined)
    } catch (cause) {
      throw new StorageFault(
        'io',
        `MLflow's server at ${url} does not answer (${reasonOf(cause)}): start it, or correct trackers.mlflow; missing figures are sent later`,
        { cause },
      )
    }
    if (!response.ok) {
      const refusal = refusalSchema.safeParse(body).data
      const words =
        refusal === undefined ? `status ${response.status}` : `${refusal.error_code}: ${refusal.message}`
      throw new StorageFault('io', `MLflow's server at ${url} refused a request: ${words}`, {
        cause: refusal,
      })
    }
    const parsed = schema.safeParse(body ?? {})
    if (parsed.success) return parsed.data
    throw new StorageFault('io', `${url} does not answer as a tracking server of MLflow does`, {
      cause: parsed.error,
    })
  }
  return {
    get: (path, asked, schema) =>
      call(`${root}${path}?${new URLSearchParams(asked)}`, { headers: credentials() }, schema),
    post: (path, body, schema) =>
      call(
        root + path,
        {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...credentials() },
          body: JSON.stringify(body),
        },
        schema,
      ),
  }
}

function isRefusal(error: unknown, code: string): boolean {
  if (!(error instanceof StorageFault)) return false
  return refusalSchema.safeParse(error.cause).data?.error_code === code
}

/** From the variables that MLflow's own client reads. */
function credentials(): Readonly<Record<string, string>> {
  const {
    MLFLOW_TRACKING_TOKEN: token,
    MLFLOW_TRACKING_USERNAME: user,
    MLFLOW_TRACKING_PASSWORD: password,
  } = process.env
  if (token !== undefined && token !== '') return { authorization: `Bearer ${token}` }
  if (user === undefined || user === '') return {}
  return { authorization: `Basic ${Buffer.from(`${user}:${password ?? ''}`).toString('base64')}` }
}

/** MLflow's names for runs and parameters, in a file store and on a server alike. */

/** All runs are in one. */
export const experimentName = 'perdure'

/** MLflow refuses a parameter with a longer text. */
const longestParameter = 6000

/** Every key of a configuration with its value, as texts. @example parametersOf({ a: { b: 1 } }) // [['a.b', '1']] */
export function parametersOf(part: object, prefix = ''): readonly (readonly [string, string])[] {
  return Object.entries(part).flatMap(([name, value]: [string, unknown]) => {
    const key = `${prefix}${name}`
    if (typeof value === 'object' && value !== null) return parametersOf(value, `${key}.`)
    return [[key, String(value).slice(0, longestParameter)] as const]
  })
}

/** A name without signs that MLflow refuses, which leads out of no folder. */
export function allowedName(name: string): string {
  return name
    .replaceAll(/[^\w\-. :/]/g, '_')
    .split('/')
    .map((part) => (/^\.*$/.test(part) ? '_' : part))
    .join('/')
}
