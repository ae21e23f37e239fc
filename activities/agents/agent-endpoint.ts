/**
 * The endpoint of the agents of one process: each episode has a key, by which its requests are found.
 *
 * Invariants
 * - [AGENT-ENDPOINT-1] It listens on loopback alone. A request without the key of an episode in progress reaches no episode: it gets 401,
 *   or 409 where the episode has ended, in the form that was asked in.
 * - [AGENT-ENDPOINT-2] A reward is posted once to an episode that takes one; a second one is refused.
 * - From the first episode on the heap of the process does not grow with the load: requests are garbage once they are answered.
 * - The calls of one activity never count as those of another: requests are answered outside of all of them.
 */
import { AsyncResource } from 'node:async_hooks'
import { setFlagsFromString } from 'node:v8'
import type { Hono, HonoRequest } from 'hono'
import { loopback } from '../../machine/network/listening.ts'
import { chance } from '../../machine/services/chance.ts'
import {
  createEndpoint,
  credentialOf,
  type FormRequest,
  type ListeningEndpoint,
  listenAt,
} from '../../policy/endpoint/endpoint.ts'
import { failureOf, RequestFault } from '../../policy/endpoint/request-fault.ts'

/** An episode as its program reaches it. */
export interface ReachedEpisode {
  /** Bytes of a request at most. */
  readonly largestBody: number
  /** Ends the episode, whose program has sent a larger one. */
  sentTooMuch(): RequestFault
  /** @returns the body of the answer @throws RequestFault */
  answer(request: FormRequest): Promise<string>
  /** Counts a request that no form could read. */
  refused(fault: RequestFault): void
  /** Takes the reward that the program posts. @throws RequestFault */
  takeReward(body: unknown): void
}

/** The way to an episode, while it is open. */
export interface OpenedKey {
  /** `http://127.0.0.1:40123` */
  readonly root: string
  readonly key: string
  close(): void
}

export interface AgentEndpoint {
  /** Opens an episode to its program under a new key. */
  open(episode: ReachedEpisode): Promise<OpenedKey>
  close(): Promise<void>
}

/** Ended keys that are still recognized. */
const mostEnded = 4096

/** Bytes of a request at most, whatever its episode allows. */
const largestBody = 64 * 1024 * 1024

export function createAgentEndpoint(): AgentEndpoint {
  const episodes = new Map<string, ReachedEpisode>()
  const ended = new Set<string>()
  const outside = new AsyncResource('perdure.agents')
  let listening: Promise<ListeningEndpoint> | undefined

  function listen(): Promise<ListeningEndpoint> {
    if (listening !== undefined) return listening
    // The room for young objects would double to 128 MB and stay, without less work for the collector (bench/agents.ts).
    setFlagsFromString('--semi-space-growth-factor=1 --heap-growing-percent=30')
    listening = outside.runInAsyncScope(() => listenAt(app(), { host: loopback, port: 0 }))
    return listening
  }

  /** @throws RequestFault */
  function episodeOf(key: string): ReachedEpisode {
    const found = episodes.get(key)
    if (found !== undefined) return found
    throw ended.has(key)
      ? new RequestFault('ended', 'the episode of this key has ended')
      : new RequestFault('no_key', 'the API key is missing, or that of no episode')
  }

  function refusal(request: HonoRequest): RequestFault | undefined {
    try {
      const episode = episodeOf(keyOf(request))
      const isTooLarge = Number(request.header('content-length') ?? 0) > episode.largestBody
      return isTooLarge ? episode.sentTooMuch() : undefined
    } catch (error) {
      if (error instanceof RequestFault) return error
      throw error
    }
  }

  function app(): Hono {
    return createEndpoint({
      largestBody,
      refusal,
      answer: (request) => episodeOf(withoutScheme(request.credential)).answer(request),
      onUnreadable(credential, error) {
        if (error instanceof RequestFault) episodes.get(withoutScheme(credential))?.refused(error)
      },
      routes(routes) {
        routes.get('/v1/models', (context) =>
          context.json({ object: 'list', data: [{ id: 'policy', object: 'model', owned_by: 'perdure' }] }),
        )
        routes.post('/episodes/:key/reward', async ({ req }) => {
          try {
            episodeOf(req.param('key')).takeReward(await req.json().catch(() => undefined))
            return Response.json({})
          } catch (error) {
            const { status, message } = failureOf(error)
            return Response.json({ error: { message } }, { status })
          }
        })
      },
    })
  }

  return {
    async open(episode) {
      const { root } = await listen()
      const key = `perdure-${chance.bytes(24).toString('base64url')}`
      episodes.set(key, episode)
      return {
        root,
        key,
        close() {
          episodes.delete(key)
          ended.add(key)
          const [oldest] = ended
          if (ended.size > mostEnded && oldest !== undefined) ended.delete(oldest)
        },
      }
    },
    async close() {
      await (await listening)?.close()
    },
  }
}

/** The key that a request shows: in its path where it posts a reward, else in a header. */
function keyOf(request: HonoRequest): string {
  const [, inPath] = /^\/episodes\/([^/]+)\/reward$/.exec(request.path) ?? []
  return inPath ?? withoutScheme(credentialOf(request))
}

function withoutScheme(credential = ''): string {
  return credential.replace(/^Bearer /i, '')
}
