/**
 * The policy of a run behind the APIs that agents speak, and `/v1/models`.
 *
 * Invariants
 * - [SERVE-1] It listens on loopback, or asks for a token; a request without it, or from a page of another site, learns nothing.
 * - [SERVE-2] No request keeps the others waiting while it is read: its body is bounded, and a long one becomes a prompt in a thread
 *   of its own.
 */
import type { Hono } from 'hono'
import {
  hostToListenOn,
  knockOf,
  type ListeningPlace,
  loopback,
  notAvailable,
  type Objection,
  objectionTo,
} from '../../machine/network/listening.ts'
import {
  createEndpoint,
  credentialOf,
  type ListeningEndpoint,
  listenAt,
} from '../../policy/endpoint/endpoint.ts'
import { RequestFault } from '../../policy/endpoint/request-fault.ts'
import { answerTo, unknownModel } from './answer.ts'
import { openServedPolicy, type ServedPolicy, type ServedRun } from './served-policy.ts'

/** The run to serve, and the address. */
export interface PolicyServerOptions extends ServedRun, ListeningPlace {
  /** 0 takes any free one. */
  readonly port: number
}

export interface PolicyServer {
  /** Base URL for clients: `http://127.0.0.1:8000/v1`. */
  readonly url: string
  close(): Promise<void>
}

/** A conversation of a million tokens as JSON. */
const largestRequest = 16 * 1024 * 1024

/** Serves until it is closed. @throws ListeningFault, SessionFault */
export async function servePolicy(options: PolicyServerOptions): Promise<PolicyServer> {
  const place = { ...options, host: hostToListenOn(options, '--host', 'PERDURE_SERVE_TOKEN') }
  return listen(await openServedPolicy(options), place)
}

/** Serves a policy that is open, and closes it at the end. @throws ListeningFault */
export async function listen(
  policy: ServedPolicy,
  { host = loopback, port, token }: ListeningPlace & { readonly port: number },
): Promise<PolicyServer> {
  let listening: ListeningEndpoint
  try {
    listening = await listenAt(createApp(policy, { host, token }), { host, port })
  } catch (error) {
    await policy[Symbol.asyncDispose]()
    throw notAvailable(error, '--port', port)
  }
  return {
    url: `${listening.root}/v1`,
    async close() {
      await listening.close()
      await policy[Symbol.asyncDispose]()
    },
  }
}

/** The routes of the server. @param place where it listens */
function createApp(policy: ServedPolicy, place: ListeningPlace): Hono {
  const { contextLength } = policy
  // vLLM's name of the context's length, by which clients shorten a conversation before they ask.
  const entryOf = (id: string) => ({
    id,
    object: 'model',
    created: 0,
    owned_by: 'perdure',
    max_model_len: contextLength,
  })
  return createEndpoint({
    largestBody: largestRequest,
    refusal(req) {
      const knock = knockOf(req.method, (name) => req.header(name))
      const objection = objectionTo({ ...knock, authorization: credentialOf(req) }, place)
      return objection && objections[objection]
    },
    answer: async ({ asked, write, text, signal }) =>
      write(await answerTo(policy, asked, { size: text.length, signal })),
    routes(app) {
      app.get('/v1/models', async (context) =>
        context.json({ object: 'list', data: (await policy.names()).map(entryOf) }),
      )
      app.get('/v1/models/:name', async (context) => {
        const name = context.req.param('name')
        if (!(await policy.names()).includes(name)) throw await unknownModel(policy, name)
        return context.json(entryOf(name))
      })
    },
  })
}

/** Why a request is refused before its body is read. */
const objections: Readonly<Record<Objection, RequestFault>> = {
  other_name: new RequestFault('forbidden', 'this server answers under its own name alone'),
  no_token: new RequestFault('no_key', 'the API key is missing or wrong: it is the token of the server'),
  other_site: new RequestFault('forbidden', 'pages of other sites may not ask'),
  not_json: new RequestFault(
    'bad_request',
    'requests are posted with the header `Content-Type: application/json`',
  ),
}
