/** A tracking server receives each figure once, also where it takes something and the answer is lost. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { z } from 'zod'
import { runId } from '../../identity/identity.ts'
import { StorageFault } from '../disk/fault.ts'
import { update } from '../metrics/metrics.testing.ts'
import { sendToMlflow } from './mlflow-server.ts'
import { scalarRows, type TrackedRun } from './tracked-run.ts'

const bodySchema = z.object({
  metrics: z
    .array(z.object({ key: z.string(), value: z.number(), timestamp: z.number(), step: z.number() }))
    .default([]),
  params: z.array(z.object({ key: z.string(), value: z.string() })).default([]),
  status: z.string().optional(),
  name: z.string().optional(),
  run_name: z.string().optional(),
})
type Sent = z.output<typeof bodySchema>

/** Content of the server; it keeps a repeated figure twice. */
let experiments: string[]
let runs: { name: string | undefined; status: string }[]
let metrics: Sent['metrics']
let params: Sent['params']
/** Calls until one is taken and not answered. */
let untilLost: number
let server: Server
let url: string

beforeEach(async () => {
  experiments = []
  runs = []
  metrics = []
  params = []
  untilLost = Number.POSITIVE_INFINITY
  server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://127.0.0.1')
      const sent = bodySchema.parse(JSON.parse(Buffer.concat(parts).toString() || '{}'))
      const answer = answerTo(pathname.replace('/api/2.0/mlflow/', ''), sent, searchParams.get('metric_key'))
      untilLost -= 1
      if (untilLost === 0) request.socket.destroy()
      else response.writeHead('error_code' in answer ? 404 : 200).end(JSON.stringify(answer))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

function answerTo(path: string, sent: Sent, metric: string | null): object {
  const shown = () => ({
    info: { run_id: 'r', status: runs[0]?.status },
    data: { metrics: [...new Set(metrics.map(({ key }) => key))].map((key) => ({ key })), params },
  })
  switch (path) {
    case 'experiments/get-by-name':
      return experiments.length === 0
        ? { error_code: 'RESOURCE_DOES_NOT_EXIST', message: 'no such experiment' }
        : { experiment: { experiment_id: '7' } }
    case 'experiments/create':
      experiments.push(sent.name ?? '')
      return { experiment_id: '7' }
    case 'runs/search':
      return runs.length === 0 ? {} : { runs: [shown()] }
    case 'runs/create':
      runs.push({ name: sent.run_name, status: 'RUNNING' })
      return { run: shown() }
    case 'runs/log-batch':
      metrics.push(...sent.metrics)
      params.push(...sent.params)
      return {}
    case 'runs/update':
      for (const run of runs) run.status = sent.status ?? run.status
      return {}
    case 'metrics/get-history':
      return { metrics: metrics.filter(({ key }) => key === metric) }
    default:
      return { error_code: 'ENDPOINT_NOT_FOUND', message: path }
  }
}

/** A run of so many updates; another one each time, as a process that does not know it. */
let created = 1_767_323_045_000
function trackedOf(updates: number, status: TrackedRun['status'] = 'running'): TrackedRun {
  const lines = Array.from({ length: updates }, (_, index) => ({
    ...update(index + 1),
    time: new Date(1_767_323_045_678 + index * 1000).toISOString(),
  }))
  return {
    id: runId('first'),
    created,
    status,
    config: { seed: 7, task: { weight: 1 } },
    rows: scalarRows(lines, created),
  }
}

/** Every metric has each step once. */
function expectEachOnce(updates: number): void {
  const steps = Array.from({ length: updates }, (_, index) => index + 1)
  const byKey = Map.groupBy(metrics, ({ key }) => key)
  expect(byKey.size).toBeGreaterThan(5)
  for (const [key, points] of byKey)
    expect(
      points.map(({ step }) => step).toSorted((a, b) => a - b),
      key,
    ).toEqual(steps)
}

// [TRACKING-SERVER-1] [TRACKING-SERVER-2]
it('a server has each figure once, whichever of the answers is lost', async () => {
  let failures = 0
  for (let lost = 1; lost < 40; lost++) {
    created += 1
    experiments = []
    runs = []
    metrics = []
    params = []
    untilLost = lost
    for (const updates of [1, 3, 3, 4]) {
      const sending = sendToMlflow(trackedOf(updates, updates === 4 ? 'done' : 'running'), url)
      await sending.catch((error: unknown) => {
        expect(error).toBeInstanceOf(StorageFault)
        failures += 1
      })
    }
    await sendToMlflow(trackedOf(4, 'done'), url)
    expectEachOnce(4)
    expect(experiments).toEqual(['perdure'])
    expect(runs).toEqual([{ name: 'first', status: 'FINISHED' }])
    expect(params).toEqual([
      { key: 'seed', value: '7' },
      { key: 'task.weight', value: '1' },
    ])
  }
  expect(failures).toBeGreaterThan(5)
}, 60_000)

it('a server that does not answer is named, with what to do', async () => {
  const gone = url
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  created += 1
  await expect(sendToMlflow(trackedOf(1), gone)).rejects.toThrow(`MLflow's server at ${gone} does not answer`)
})

it('what is no server of MLflow is said to be none', async () => {
  created += 1
  await expect(sendToMlflow(trackedOf(1), `${url}/elsewhere`)).rejects.toThrow('ENDPOINT_NOT_FOUND')
})
