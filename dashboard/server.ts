/**
 * The server of `perdure ui`: the page's files, the answers to its questions, and the stream of what is new.
 *
 * Invariants
 * - [SERVER-1] It only looks: nothing in the home changes, unless the page may steer and does.
 * - [SERVER-2] A request that cannot be answered is a refusal with a message; the cause of a failure is logged and not shown.
 * - Every question is bounded: in size, in rows, in the number of streams.
 * - When it is closed nothing of it is left: no connection, stream, session or process.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { serve } from '@hono/node-server'
import { type Context, Hono } from 'hono'
import { streamSSE } from 'hono/streaming'
import { isRunName } from '../identity/identity.ts'
import { packageRoot } from '../machine/files/folder.ts'
import { limitedBody } from '../machine/network/body-limit.ts'
import {
  hostToListenOn,
  isLoopback,
  type ListeningPlace,
  newToken,
  notAvailable,
} from '../machine/network/listening.ts'
import { commandName, homeFlag, withTypedCommands } from '../machine/processes/typed-command.ts'
import { diskSpace } from '../storage/disk/disk-use.ts'
import { StorageFault } from '../storage/disk/fault.ts'
import { type Answerer, createAnswerer } from './answerer.ts'
import { Refused } from './answers/known-run.ts'
import { knownEpisode } from './answers/trajectory.ts'
import type { HomeFacts } from './contract/home.ts'
import type { Refusal, RefusalKind } from './contract/routes.ts'
import { enter, guarded, withHeaders } from './guards.ts'
import { openShownHome, type ShownHome, type TemporalPlace } from './home/shown-home.ts'
import { createLiveFeed, type LiveEvent, type LiveFeed } from './live-events.ts'
import { type PageFile, readPageFiles } from './page-files.ts'
import { asked, questions } from './questions.ts'
import { createSteering, type Steering } from './steering.ts'

export interface DashboardOptions extends ListeningPlace {
  readonly home: string
  /** 0 takes any free one. */
  readonly port: number
  /** The folder of the page's files. */
  readonly page: string
  /** Whether the page may give orders and branch. */
  readonly canSteer?: boolean
  /** Where the Temporal UI is, while one answers. */
  readonly temporal?: () => TemporalPlace | undefined
  readonly log?: (line: string) => void
  /** Folder of the episode index; in the user's cache by default. */
  readonly cache?: string
}

export interface Dashboard {
  /** The address that a person opens; it holds the token where one is needed. */
  readonly url: string
  close(): Promise<void>
}

export const tokenVariable = 'PERDURE_UI_TOKEN'
const largestBody = 64 * 1024
const mostStreams = 32
/** Events that a page has not taken yet; a page that is behind by more is let go, and asks again. */
const mostWaiting = 200
/** So that proxies and browsers know that it lives. */
const heartbeatMs = 15_000

/** Serves until it is closed. @throws ListeningFault, StorageFault */
export async function serveDashboard(options: DashboardOptions): Promise<Dashboard> {
  const { log = () => undefined, port } = options
  const place = placeOf(options)
  const files = readPageFiles(options.page)
  await using opened = new AsyncDisposableStack()
  const shown = opened.use(await openShownHome(options.home, options.temporal, options.cache))
  const live = opened.use(createLiveFeed(shown, log))
  const steering = options.canSteer === true ? opened.use(createSteering(options.home, log)) : undefined
  const streams = opened.adopt(new AbortController(), (each) => each.abort())
  const app = createApp({ shown, live, steering, files, place, log, closing: streams.signal })
  const server = serve({ fetch: app.fetch, hostname: place.host, port })
  await once(server, 'listening').catch((error: unknown) => {
    throw notAvailable(error, '--port', port)
  })
  // The first page finds an index that is on its way.
  shown.index.refresh().catch((error: unknown) => log(`the index of episodes is behind: ${String(error)}`))
  const { port: taken } = server.address() as AddressInfo
  const root = `http://${place.host.includes(':') ? `[${place.host}]` : place.host}:${taken}/`
  const all = opened.move()
  return {
    url: place.token === undefined ? root : `${root}enter/${place.token}`,
    async close() {
      const closed = once(server, 'close')
      streams.abort()
      server.close()
      if ('closeAllConnections' in server) server.closeAllConnections()
      await closed
      await all.disposeAsync()
    },
  }
}

/** On other hosts than loopback a token is asked for: the given one, or one that no one can guess. */
function placeOf({ host, token }: ListeningPlace): {
  readonly host: string
  readonly token: string | undefined
} {
  const needed = host !== undefined && !isLoopback(host) ? (token ?? newToken()) : token
  return { host: hostToListenOn({ host, token: needed }, '--host', tokenVariable), token: needed }
}

interface AppParts {
  readonly shown: ShownHome
  readonly live: LiveFeed
  readonly steering: Steering | undefined
  readonly files: ReadonlyMap<string, PageFile>
  readonly place: ListeningPlace
  readonly log: (line: string) => void
  readonly closing: AbortSignal
}

function createApp(parts: AppParts): Hono {
  const { shown, files, place, log, steering } = parts
  const answers = createAnswerer(shown)
  const app = new Hono()
  app.use(withHeaders())
  app.onError((error, context) => refuse(context, error, log))
  app.notFound((context) => refuse(context, new Refused('unknown', 'there is nothing of that name'), log))
  app.get('/enter/:token', enter(place))
  app.use(guarded(place))
  const tooLarge = new Refused('too_large', `the body is larger than ${largestBody} bytes`)
  app.use(limitedBody(largestBody, (context) => refuse(context, tooLarge, log)))
  app.get('/api/home', async (context) => context.json(await homeFacts(shown, steering !== undefined)))
  addAnswers(app, answers, steering)
  addOrders(app, shown, steering)
  addLive(app, parts)
  for (const [path, file] of files) app.get(path, (context) => fileAnswer(context, file))
  return app
}

function addAnswers(app: Hono, answers: Answerer, steering: Steering | undefined): void {
  app.get('/api/runs', async (context) => context.json(await answers.runs()))
  app.get('/api/runs/:run', async (context) => context.json(await answers.run(context.req.param('run'))))
  app.get('/api/runs/:run/curves', async (context) => {
    const { after } = asked(questions.curves, context.req.query())
    return context.json(await answers.curves(context.req.param('run'), after))
  })
  app.get('/api/runs/:run/evaluations', async (context) =>
    context.json(await answers.evaluations(context.req.param('run'))),
  )
  app.get('/api/comparison', async (context) =>
    context.json(await answers.comparison(asked(questions.comparison, context.req.query()).of)),
  )
  app.get('/api/experiments', async (context) => context.json(await answers.experiments()))
  app.get('/api/experiments/:experiment', async (context) =>
    context.json(await answers.experiment(context.req.param('experiment'))),
  )
  app.get('/api/episodes', async (context) => {
    const { filter, sort, ...stretch } = asked(questions.episodes, context.req.query())
    return context.json(await answers.episodes(filter, { ...sort, ...stretch, mark: stretch.mark }))
  })
  app.get('/api/groups/:parent', async (context) =>
    context.json(await answers.group(context.req.param('parent'))),
  )
  app.get('/api/episodes/:episode', async (context) =>
    context.json(await answers.trajectory(context.req.param('episode'))),
  )
  app.get('/api/episodes/:episode/branches', async (context) => {
    const episode = context.req.param('episode')
    return context.json(await answers.branches(episode, steering?.asked(episode) ?? []))
  })
}

function addOrders(app: Hono, shown: ShownHome, steering: Steering | undefined): void {
  function allowed(): Steering {
    if (steering !== undefined) return steering
    throw new Refused('forbidden', 'this page only shows: start it with `perdure ui --steer` to give orders')
  }
  app.post('/api/runs/:run/orders', async (context) => {
    const may = allowed()
    const order = asked(questions.order, await bodyOf(context))
    const run = context.req.param('run')
    if (!isRunName(run)) throw new Refused('unknown', `there is no run "${run}"`)
    return context.json(await may.order(run, withoutAbsent(order)))
  })
  app.post('/api/episodes/:episode/branches', async (context) => {
    const may = allowed()
    const wish = asked(questions.branch, await bodyOf(context))
    const episode = context.req.param('episode')
    await knownEpisode(shown, episode)
    return context.json(await may.branch(episode, withoutAbsent(wish)), 202)
  })
}

/** The stream of what is new. */
function addLive(app: Hono, { live, closing }: AppParts): void {
  let streams = 0
  app.get('/api/live', (context) => {
    const { run } = asked(questions.live, context.req.query())
    if (streams >= mostStreams)
      throw new Refused('unavailable', `${mostStreams} pages listen already; close one of them`)
    streams += 1
    return streamSSE(context, async (stream) => {
      const waiting: LiveEvent[] = []
      let wake: () => void = () => undefined
      const end = live.listen(run, (event) => {
        waiting.push(event)
        wake()
      })
      const abort = () => wake()
      closing.addEventListener('abort', abort)
      stream.onAbort(abort)
      try {
        while (!closing.aborted && !stream.aborted && waiting.length <= mostWaiting) {
          const next = waiting.shift()
          if (next === undefined) {
            const { promise, resolve } = Promise.withResolvers<void>()
            wake = resolve
            const beat = setTimeout(resolve, heartbeatMs)
            await promise
            clearTimeout(beat)
            if (waiting.length === 0 && !closing.aborted && !stream.aborted) await stream.write(': \n\n')
          } else await stream.writeSSE({ event: next.event, data: JSON.stringify(next.data) })
        }
      } finally {
        end()
        closing.removeEventListener('abort', abort)
        streams -= 1
      }
    })
  })
}

async function homeFacts({ home, index, temporal }: ShownHome, canSteer: boolean): Promise<HomeFacts> {
  const { version } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as {
    version: string
  }
  return {
    home: home.dir,
    release: version,
    typed: { name: commandName(), homeFlag: homeFlag() },
    temporal: temporal()?.url ?? null,
    canSteer,
    disk: await diskSpace(home.dir),
    search: index.state(),
  }
}

function fileAnswer(context: Context, { bytes, type, tag }: PageFile): Response {
  context.header('etag', tag)
  context.header('cache-control', 'no-cache')
  if (context.req.header('if-none-match') === tag) return context.body(null, 304)
  return context.body(bytes, 200, { 'content-type': type })
}

async function bodyOf(context: Context): Promise<unknown> {
  try {
    return await context.req.json()
  } catch (cause) {
    throw new Refused('bad_request', 'the body is no JSON', { cause })
  }
}

const statusOf = {
  unknown: 404,
  bad_request: 400,
  forbidden: 403,
  too_large: 413,
  refused: 409,
  unavailable: 503,
} as const satisfies Record<RefusalKind, number>

function refuse(context: Context, error: unknown, log: (line: string) => void): Response {
  const refused = refusedOf(error)
  if (!(error instanceof Refused)) log(`${context.req.method} ${context.req.path}: ${String(error)}`)
  const body: Refusal = { error: { kind: refused.kind, message: withTypedCommands(refused.message) } }
  return context.json(body, statusOf[refused.kind])
}

function refusedOf(error: unknown): Refused {
  if (error instanceof Refused) return error
  // Faults of the store are written for people; any other failure is the log's matter.
  if (error instanceof StorageFault) return new Refused('unavailable', error.message, { cause: error })
  return new Refused('unavailable', 'the server failed; its terminal says why', { cause: error as Error })
}

/** Keys that were not given are absent, not undefined. */
function withoutAbsent<Value extends object>(value: Value): Given<Value> {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as Given<Value>
}

type Given<Value> = Value extends object ? { [Key in keyof Value]: Exclude<Value[Key], undefined> } : never
