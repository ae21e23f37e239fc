/**
 * A SPARQL endpoint of the tests' own: Oxigraph behind HTTP on a free port of this machine.
 *
 * Invariants
 * - It answers SPARQL JSON to a query by GET or by a form that is posted, and nothing else.
 * - It has what it was last given, and is gone when it is closed.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Store } from 'oxigraph'

export interface SparqlServer extends AsyncDisposable {
  readonly url: string
  /** Queries so far, with their method. */
  readonly asked: { readonly method: string; readonly query: string; readonly authorization?: string }[]
  /** Replaces the graph. @param turtle without prefixes */
  load(turtle: string): void
  /** Answers instead of the store; undefined lets the store answer. */
  answer?: ((query: string, response: ServerResponse) => boolean) | undefined
}

/** Starts an endpoint over an empty graph. */
export async function startSparqlServer(): Promise<SparqlServer> {
  let store = new Store()
  const server = createServer((request, response) => {
    respond(request, response).catch((cause: unknown) => {
      response.writeHead(400).end(String(cause))
    })
  })
  const endpoint: SparqlServer = {
    url: '',
    asked: [],
    load(turtle) {
      store = new Store()
      store.load(turtle, { format: 'text/turtle' })
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', headers } = request
    const { searchParams } = new URL(request.url ?? '', 'http://localhost')
    const form = method === 'POST' ? new URLSearchParams(await text(request)) : searchParams
    const query = form.get('query') ?? ''
    const { authorization } = headers
    endpoint.asked.push({ method, query, ...(authorization === undefined ? {} : { authorization }) })
    if (endpoint.answer?.(query, response) === true) return
    const results = store.query(query, { results_format: 'json' })
    response.writeHead(200, { 'content-type': 'application/sparql-results+json' }).end(results)
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return Object.assign(endpoint, { url: `http://127.0.0.1:${port}/sparql` })
}
