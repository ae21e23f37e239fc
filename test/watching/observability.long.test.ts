/** A run in progress offers metrics, one trace and a log; and it listens on loopback only. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openSession, type TrainingSession } from '../../client/session/training-session.ts'
import { runId } from '../../identity/identity.ts'
import { listeningAddresses } from '../host/listening-sockets.ts'
import { createEchoTask } from '../support/echo-task.ts'
import { fetchHistories, replay } from '../support/executions.ts'
import { removeHome, startPerdure, temporaryHome } from '../support/perdure-process.ts'
import {
  createCopyingTrainer,
  createGate,
  createSpeakingEngine,
  sayYesOrNo,
  tinyConfig,
} from '../support/tiny-run.ts'

interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[]
  readonly links?: readonly { readonly spanId: string }[]
}

const run = runId('observed')
const home = temporaryHome()
const spans: Span[] = []
const { definition } = createEchoTask()
let receiver: Server
let session: TrainingSession
/** While the last update is in progress. */
let scraped: string
let listening: readonly string[]

beforeAll(async () => {
  receiver = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      spans.push(...spansOf(JSON.parse(Buffer.concat(chunks).toString())))
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`
  const atLastUpdate = createGate()
  const seen = createGate()
  const lines: string[] = []
  session = await openSession({
    home,
    roles: 'all',
    log: (line) => lines.push(line),
    findEnvironment: () => definition,
    createEngine: async () => createSpeakingEngine(sayYesOrNo),
    createTrainer: () =>
      createCopyingTrainer(async ({ version }) => {
        if (version !== 3) return
        atLastUpdate.open()
        await seen.passed
      }),
    metrics: { port: 0 },
  })
  const url = lines.join('\n').match(/Metrics are at (\S+)/)?.[1] ?? ''
  await session.start(run, tinyConfig())
  await atLastUpdate.passed
  scraped = await (await fetch(url)).text()
  listening = listeningAddresses(process.pid, serverPidOf(home))
  seen.open()
  await session.result(run)
  await session.close()
}, 120_000)

afterAll(async () => {
  delete process.env.OTEL_EXPORTER_OTLP_ENDPOINT
  await new Promise((resolve) => receiver.close(resolve))
  removeHome(home)
})

describe('metrics', () => {
  it('tell what was played, sampled and learnt, and where the run is', () => {
    expect(
      figure('perdure_episodes_total', { run, task: 'echo', outcome: 'completed' }),
    ).toBeGreaterThanOrEqual(12)
    expect(figure('perdure_groups_total', { run, task: 'echo', ending: 'complete' })).toBeGreaterThanOrEqual(
      6,
    )
    expect(figure('perdure_turns_total', { run })).toBeGreaterThanOrEqual(12)
    expect(figure('perdure_sampled_tokens_total', { run })).toBeGreaterThan(0)
    for (const phase of ['wait', 'train', 'publish'])
      expect(figure('perdure_update_seconds_count', { run, phase })).toBe(2)
    expect(figure('perdure_run_version', { run })).toBe(2)
    expect(figure('perdure_run_updates_planned', { run })).toBe(3)
    expect(figure('perdure_run_success', { run, task: 'echo' })).toBe(0.5)
    expect(figure('perdure_run_staleness', { run })).toBeGreaterThanOrEqual(0)
    expect(figure('perdure_run_groups', { run, state: 'ready' })).toBeGreaterThanOrEqual(0)
    expect(figure('perdure_run_trained_tokens', { run })).toBeGreaterThan(0)
  })

  it("hold the figures of Temporal's SDK and of the process beside them", () => {
    expect(scraped).toMatch(/^temporal_\w*workflow_completed_total\{/m)
    expect(scraped).toMatch(/^process_cpu_seconds_total /m)
  })
})

describe('a trace', () => {
  it('spans a run from its groups and episodes to their turns, and its updates', () => {
    const trace = new Set(spans.map(({ traceId }) => traceId))
    expect(trace.size).toBe(1)
    const path = (name: string) => ancestry(spans.find((span) => span.name === name))
    expect(path('sample')).toEqual(['sample', 'turn', 'episode', 'group', 'run'])
    expect(path('step')).toEqual(['step', 'turn', 'episode', 'group', 'run'])
    expect(path('update')).toEqual(['update', 'run'])
    expect(path('seal')).toEqual(['seal', 'episode', 'group', 'run'])
  })

  it('links an update to the groups that it consumed', () => {
    const groups = new Set(spans.filter(({ name }) => name === 'group').map(({ spanId }) => spanId))
    const updates = spans.filter(({ name }) => name === 'update')
    expect(updates).toHaveLength(3)
    for (const { links = [] } of updates) {
      expect(links).toHaveLength(2)
      for (const { spanId } of links) expect(groups.has(spanId)).toBe(true)
    }
  })

  it('has one span of each identity, and children within their parents', () => {
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length)
    for (const turn of spans.filter(({ name }) => name === 'turn')) {
      const episode = spans.find(({ spanId }) => spanId === turn.parentSpanId)
      expect(BigInt(turn.endTimeUnixNano)).toBeLessThanOrEqual(BigInt(episode?.endTimeUnixNano ?? 0))
      expect(BigInt(turn.startTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(episode?.startTimeUnixNano ?? 0))
    }
  })

  it('changes no history: what was recorded with it replays with it and without', async () => {
    const histories = await fetchHistories(home)
    expect(histories.length).toBeGreaterThanOrEqual(19)
    expect(await replay(histories)).toEqual([])
    expect(await replay(histories, { observed: true })).toEqual([])
    const folder = new URL('../histories/', import.meta.url)
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    const recorded = files.filter((name) => name.endsWith('.json'))
    expect(recorded.length).toBeGreaterThan(0)
    const before = recorded.map((name) => ({
      workflowId: name,
      type: name,
      history: JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as never,
    }))
    expect(await replay(before, { observed: true })).toEqual([])
  })
})

describe('the log', () => {
  it('is made of JSON lines, and those about a run name it', () => {
    const lines = readFileSync(join(home, 'logs', 'workers.log'), 'utf8')
      .trim()
      .split('\n')
    const entries = lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
    expect(entries.length).toBeGreaterThan(0)
    for (const entry of entries)
      expect(entry).toMatchObject({ time: expect.any(String), level: expect.any(String) })
    for (const { workflowId, run: named } of entries) if (workflowId !== undefined) expect(named).toBe(run)
  })
})

describe('what listens during a run', () => {
  it('is refused to all others by name where there is no token, before anything starts', async () => {
    const empty = temporaryHome()
    const words = [
      'train',
      'test/support/whole-pipeline.yaml',
      '--metrics-port',
      '0',
      '--metrics-host',
      '0.0.0.0',
    ]
    const { code, stderr } = await startPerdure(empty, ...words).ended
    expect(code).toBe(2)
    expect(stderr).toContain('--metrics-host 0.0.0.0 lets other machines in: set PERDURE_METRICS_TOKEN')
    expect(existsSync(join(empty, 'temporal.json'))).toBe(false)
    removeHome(empty)
  })

  it.runIf(existsSync('/proc/net/tcp'))('is on loopback only', () => {
    // The server's frontend and UI at least, and the metrics.
    expect(listening.length).toBeGreaterThanOrEqual(3)
    for (const address of listening) expect(address).toMatch(/^(127\.|::1)/)
  })
})

/** Value of a figure with exactly these labels among its own. */
function figure(name: string, labels: Readonly<Record<string, string>>): number {
  const line = scraped
    .split('\n')
    .find(
      (each) =>
        each.startsWith(`${name}{`) &&
        Object.entries(labels).every(([label, value]) => each.includes(`${label}="${value}"`)),
    )
  return Number(line?.split(' ').at(-1))
}

function ancestry(span: Span | undefined): readonly string[] {
  if (span === undefined) return []
  return [span.name, ...ancestry(spans.find(({ spanId }) => spanId === span.parentSpanId))]
}

function spansOf(request: {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly Span[] }[] }[]
}): readonly Span[] {
  return request.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans))
}

function serverPidOf(directory: string): number {
  const record = JSON.parse(readFileSync(join(directory, 'temporal.json'), 'utf8')) as { pid: number }
  return record.pid
}
