/**
 * An encrypted run against a server with mutual TLS, with secrets planted wherever a user can put one: nothing that was
 * written holds any of them, and the server knows no word of what was played.
 */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { type AddressInfo, connect as connectTo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer as createTlsServer, type Server } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openSession } from '../../client/session/training-session.ts'
import { resolveConfig } from '../../config/files/loader.ts'
import {
  curvesRoute,
  episodesRoute,
  groupRoute,
  homeRoute,
  runRoute,
  runsRoute,
  trajectoryRoute,
} from '../../dashboard/contract/routes.ts'
import { writeReport } from '../../dashboard/report.ts'
import { serveDashboard } from '../../dashboard/server.ts'
import { EnvironmentFault } from '../../envs/contract/environment.ts'
import { parseWorkflowId, runId } from '../../identity/identity.ts'
import { serveCodec } from '../../temporal/codec-server.ts'
import { connect, externalServer } from '../../temporal/connection.ts'
import { keyRing } from '../../temporal/payload-encryption.ts'
import { startTemporal } from '../../temporal/server/server.ts'
import { createEchoTask } from '../support/echo-task.ts'
import { type Execution, fetchHistories, replay } from '../support/executions.ts'
import { removeHome, temporaryHome } from '../support/perdure-process.ts'
import { createCopyingTrainer, createSpeakingEngine, sayYesOrNo, tinyConfig } from '../support/tiny-run.ts'

const run = runId('sealed')
const home = temporaryHome()
const folder = mkdtempSync(join(tmpdir(), 'perdure-tls-'))
const secretFile = join(folder, 'file-secret')
const keys = [1, 2].map((id) => `k${id}:${randomBytes(32).toString('base64')}`)
const planted = {
  inEnvironment: 'planted-in-environment-7d1',
  inFile: 'planted-in-file-9c2',
  apiKey: 'planted-api-key-5e3',
  token: 'planted-metrics-token-4f4',
  headers: 'authorization=planted-header-8a5',
  newKey: keys[1]?.slice(3) ?? '',
  oldKey: keys[0]?.slice(3) ?? '',
}
/** A word of every transcript, message and failure of the run. */
const played = 'Say yes.'
const environment: Record<string, string> = {
  PLANTED_PASSWORD: planted.inEnvironment,
  PERDURE_PAYLOAD_KEYS: [...keys].reverse().join(','),
  PERDURE_METRICS_TOKEN: planted.token,
  OTEL_EXPORTER_OTLP_HEADERS: planted.headers,
  TEMPORAL_API_KEY: planted.apiKey,
  TEMPORAL_TLS_SERVER_NAME: 'temporal.test',
  TEMPORAL_TLS_CLIENT_CERT_PATH: join(folder, 'client.pem'),
  TEMPORAL_TLS_CLIENT_KEY_PATH: join(folder, 'client.key'),
  TEMPORAL_TLS_SERVER_CA_CERT_PATH: join(folder, 'ca.pem'),
}
let server: Awaited<ReturnType<typeof startTemporal>>
let proxy: Server
let executions: readonly Execution[]
/** Options with which an environment was opened. */
let opened: unknown

beforeAll(async () => {
  makeCertificates()
  writeFileSync(secretFile, `${planted.inFile}\n`)
  server = await startTemporal(home)
  proxy = await terminateTls(Number(server.address.split(':').at(-1)))
  Object.assign(process.env, environment, {
    TEMPORAL_ADDRESS: `127.0.0.1:${(proxy.address() as AddressInfo).port}`,
  })
  const { definition } = createEchoTask()
  let failures = 0
  const leaking = {
    ...definition,
    async open(options: Parameters<typeof definition.open>[0]) {
      opened = options.settings
      const task = await definition.open({})
      return {
        ...task,
        async create() {
          failures += 1
          // Drivers like to quote addresses that they cannot reach.
          if (failures === 1)
            throw new EnvironmentFault('backend', `cannot reach ${JSON.stringify(options.settings)}`)
          return task.create()
        },
      }
    },
  }
  const settings = { url: `db://root:\${PLANTED_PASSWORD}@host`, key: `\${file:${secretFile}}` }
  const tiny = tinyConfig({ training: { updates: 1 } })
  const config = resolveConfig({ ...tiny, tasks: [{ task: 'echo', settings }] })
  const session = await openSession({
    home,
    roles: 'all',
    log: () => undefined,
    findEnvironment: () => leaking,
    createEngine: () => Promise.resolve(createSpeakingEngine(sayYesOrNo)),
    createTrainer: () => createCopyingTrainer(),
    metrics: { port: 0, host: '127.0.0.1', token: planted.token },
  })
  try {
    await session.start(run, config)
    await session.result(run)
  } finally {
    await session.close()
  }
  executions = await fetchHistories(home)
}, 120_000)

afterAll(async () => {
  for (const name of [...Object.keys(environment), 'TEMPORAL_ADDRESS']) delete process.env[name]
  proxy?.close()
  await server?.close()
  rmSync(folder, { recursive: true, force: true })
  removeHome(home)
})

describe('secrets', () => {
  it('reach the environment that needs them', () => {
    expect(opened).toEqual({ url: `db://root:${planted.inEnvironment}@host`, key: planted.inFile })
  })

  it('are in nothing that was written: store, histories, logs, checkpoints, metrics', () => {
    const files = filesOf(home)
    for (const name of ['store.db', 'temporal.db', 'workers.log', 'manifest.json', 'metrics.jsonl'])
      expect(files.some((file) => file.endsWith(name))).toBe(true)
    const found = files.flatMap((file) => {
      const bytes = readFileSync(file)
      return Object.entries(planted).flatMap(([name, secret]) =>
        bytes.includes(secret) ? [`${name} in ${file}`] : [],
      )
    })
    expect(found).toEqual([])
    const histories = JSON.stringify(executions)
    for (const secret of Object.values(planted)) expect(histories).not.toContain(secret)
  })

  it('are in no answer of the page and in no report', async () => {
    const page = join(folder, 'page')
    mkdirSync(page)
    writeFileSync(join(page, 'index.html'), '<!doctype html><head></head>')
    const dashboard = await serveDashboard({ home, port: 0, page, cache: join(folder, 'cache') })
    const ask = async (route: string) => (await fetch(dashboard.url + route)).text()
    try {
      const { rows } = JSON.parse(await ask(episodesRoute({})))
      const [{ episode, parent }] = rows
      const routes = [
        ...[homeRoute(), runsRoute(), runRoute(run), curvesRoute(run), episodesRoute({})],
        ...[groupRoute(parent), trajectoryRoute(episode)],
      ]
      const out = join(folder, 'report')
      const { file } = await writeReport({ home, run, out, page, release: '1', groups: 10 })
      const published = [readFileSync(file, 'utf8'), ...(await Promise.all(routes.map(ask)))].join('\n')
      expect(published).toContain('{PLANTED_PASSWORD}')
      for (const [name, secret] of Object.entries(planted))
        expect(published.includes(secret), name).toBe(false)
    } finally {
      await dashboard.close()
    }
  })
})

describe('the log of a failure', () => {
  it('says in which run, group and episode it was met', () => {
    const lines = readFileSync(join(home, 'logs', 'workers.log'), 'utf8')
      .trim()
      .split('\n')
    const failure = lines
      .map((line) => JSON.parse(line))
      .find(({ error }) => String(error).includes('cannot reach'))
    expect(failure).toMatchObject({
      run,
      group: expect.stringMatching(/^sealed\/g\d$/),
      episode: expect.stringMatching(/^sealed\/g\d\/s\d\/a0$/),
    })
    expect(failure.error).toContain('***')
  })
})

describe('an encrypted run', () => {
  it('ends on a server that can read none of its payloads', () => {
    const files = ['temporal.db', 'temporal.db-wal'].map((name) => join(home, name)).filter(existsSync)
    const bytes = Buffer.concat(files.map((file) => readFileSync(file)))
    for (const word of [played, 'groupSize', 'cannot reach', '"rewards"'])
      expect(bytes.includes(word)).toBe(false)
    expect(bytes.includes('binary/encrypted')).toBe(true)
  })

  it('replays with the keys', async () => {
    expect(executions.map(({ type }) => type)).toContain('trainingRun')
    expect(await replay(executions)).toEqual([])
  })

  it('is shown by the codec server to those who have its address, and to no other', async () => {
    const payload = startedPayload(executions)
    const ring = keyRing()
    if (ring === undefined) throw new Error('there are keys')
    const codec = await serveCodec({ keys: ring, port: 0, origins: ['http://localhost:8233'] })
    const ask = (url: string, headers: Record<string, string> = {}) =>
      fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ payloads: [payload] }),
      })
    try {
      const answer = await ask(`${codec.endpoint}/decode`, { origin: 'http://localhost:8233' })
      expect(answer.headers.get('access-control-allow-origin')).toBe('http://localhost:8233')
      const { payloads } = (await answer.json()) as { payloads: readonly { data: string }[] }
      expect(JSON.parse(Buffer.from(payloads[0]?.data ?? '', 'base64').toString())).toMatchObject({ run })
      const { origin } = new URL(codec.endpoint)
      expect((await ask(`${origin}/decode`)).status).toBe(403)
      expect((await ask(`${origin}/wrong-token/decode`)).status).toBe(403)
      const foreign = await ask(`${codec.endpoint}/decode`, { origin: 'https://evil.example' })
      expect(foreign.headers.get('access-control-allow-origin')).toBeNull()
    } finally {
      await codec.close()
    }
  })
})

describe('mutual TLS', () => {
  it('is what the run went through', () => {
    expect(externalServer()?.options).toMatchObject({ tls: { serverNameOverride: 'temporal.test' } })
  })

  it('refuses clients without a certificate', async () => {
    const { TEMPORAL_TLS_CLIENT_CERT_PATH: certificate, TEMPORAL_TLS_CLIENT_KEY_PATH: key } = process.env
    delete process.env.TEMPORAL_TLS_CLIENT_CERT_PATH
    delete process.env.TEMPORAL_TLS_CLIENT_KEY_PATH
    try {
      await expect(connect(home)).rejects.toMatchObject({ kind: 'unreachable' })
    } finally {
      Object.assign(process.env, {
        TEMPORAL_TLS_CLIENT_CERT_PATH: certificate,
        TEMPORAL_TLS_CLIENT_KEY_PATH: key,
      })
    }
  })
})

/** A TLS endpoint that asks for client certificates, before a server that has none. */
function terminateTls(port: number): Promise<Server> {
  const tls = createTlsServer(
    {
      key: readFileSync(join(folder, 'server.key')),
      cert: readFileSync(join(folder, 'server.pem')),
      ca: readFileSync(join(folder, 'ca.pem')),
      requestCert: true,
      rejectUnauthorized: true,
      ALPNProtocols: ['h2'],
    },
    (client) => {
      const upstream = connectTo(port, '127.0.0.1')
      client.pipe(upstream).pipe(client)
      const end = () => {
        client.destroy()
        upstream.destroy()
      }
      for (const socket of [client, upstream]) socket.on('error', end).on('close', end)
    },
  )
  tls.on('tlsClientError', () => undefined)
  return new Promise((resolve) => {
    tls.listen(0, '127.0.0.1', () => resolve(tls))
  })
}

function makeCertificates(): void {
  const openssl = (...words: string[]) => execFileSync('openssl', words, { cwd: folder, stdio: 'pipe' })
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1']
  openssl('req', '-x509', ...curve, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=perdure test')
  for (const [name, subject] of [
    ['server', '/CN=temporal.test'],
    ['client', '/CN=perdure worker'],
  ] as const) {
    writeFileSync(join(folder, `${name}.ext`), 'subjectAltName=DNS:temporal.test\n')
    openssl('req', ...curve, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', subject)
    openssl(
      ...['x509', '-req', '-in', `${name}.csr`, '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial'],
      ...['-out', `${name}.pem`, '-days', '1', '-extfile', `${name}.ext`],
    )
  }
}

function filesOf(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .map((name) => join(directory, name))
    .filter((file) => statSync(file).isFile())
}

/** The argument of the run, as the server keeps it, in the form of the codec server's requests. */
function startedPayload(all: readonly Execution[]) {
  const history = all.find(({ workflowId }) => parseWorkflowId(workflowId).id === run)?.history
  const events = (
    history as { readonly events: readonly { readonly workflowExecutionStartedEventAttributes?: unknown }[] }
  ).events
  const attributes = events[0]?.workflowExecutionStartedEventAttributes as {
    readonly input: {
      readonly payloads: readonly {
        readonly metadata: Readonly<Record<string, Uint8Array>>
        readonly data: Uint8Array
      }[]
    }
  }
  const [payload] = attributes.input.payloads
  const text = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString('base64')
  const metadata = Object.entries(payload?.metadata ?? {}).map(([name, value]) => [name, text(value)])
  return { metadata: Object.fromEntries(metadata), data: text(payload?.data) }
}
