/** Recorded requests and answers of AgentRL's programs: the nightly test writes them where `PERDURE_RECORD=1`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type SocketServer, serveSockets } from '../../envs/remote/base/socket-server.testing.ts'

/** A request with its answer. */
export interface Exchange {
  readonly method: string
  readonly path: string
  /** The session that the request names in its header. */
  readonly session?: string
  readonly body?: unknown
  readonly status: number
  /** The session that the answer names in its header. */
  readonly begun?: string
  readonly answer: unknown
}

export interface Recording {
  /** The package that took part. */
  readonly of: string
  readonly exchanges: readonly Exchange[]
}

export type RecordedProgram = 'heartbeat' | 'worker' | 'eval'

function fileOf(program: RecordedProgram): string {
  return join(import.meta.dirname, 'recorded', `${program}.json`)
}

export function recordingOf(program: RecordedProgram): Recording {
  return JSON.parse(readFileSync(fileOf(program), 'utf8'))
}

/** Sends a request, to a recorded path. @param session the one to name in its place */
export async function ask(
  root: string,
  { method, path, body }: Exchange,
  session?: string,
): Promise<Response> {
  return await fetch(root + path, {
    method,
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(session === undefined ? {} : { session_id: session }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

/** A request without the number of its session, which is another one each time. */
export function withoutSession(body: unknown): unknown {
  if (typeof body !== 'object' || body === null) return body
  const { session_id: _, ...rest } = body as Readonly<Record<string, unknown>>
  return rest
}

/** A server that passes all on to another, and with `PERDURE_RECORD=1` writes down what was said. @param root `http://HOST:PORT` */
export async function recordBetween(
  program: RecordedProgram,
  of: string,
  root: string,
): Promise<SocketServer> {
  const exchanges: Exchange[] = []
  const server = await serveSockets({
    async onRequest(request, response) {
      const given = await text(request)
      const session = request.headers.session_id
      const asked = {
        ...{ method: request.method ?? '', path: request.url ?? '' },
        ...(typeof session === 'string' ? { session } : {}),
        ...(given === '' ? {} : { body: JSON.parse(given) as unknown }),
      }
      try {
        const answered = await ask(root, { ...asked, status: 0, answer: null }, asked.session)
        const said = await answered.text()
        const begun = answered.headers.get('session_id')
        exchanges.push({
          ...asked,
          status: answered.status,
          ...(begun === null ? {} : { begun }),
          answer: readable(said),
        })
        response.writeHead(answered.status, {
          'content-type': answered.headers.get('content-type') ?? 'application/json',
          ...(begun === null ? {} : { session_id: begun }),
        })
        response.end(said)
      } catch {
        response.destroy()
      }
    },
  })
  return {
    ...server,
    async close() {
      await server.close()
      if (process.env.PERDURE_RECORD === '1')
        writeFileSync(fileOf(program), `${JSON.stringify({ of, exchanges }, null, 1)}\n`)
    },
  }
}

function readable(said: string): unknown {
  try {
    return JSON.parse(said)
  } catch {
    return said
  }
}
