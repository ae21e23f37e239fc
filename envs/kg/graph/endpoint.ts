/**
 * A graph behind a SPARQL 1.1 endpoint, such as Virtuoso with Freebase.
 *
 * Invariants
 * - Every query has a deadline, a limit on its rows and one on the bytes of its answer.
 * - An endpoint that is down is an EnvironmentFault. An endpoint that answers others but not this query in time throws a
 *   CostlyQuestion: the agent asked for too much.
 * - The same query is sent once while its answer is kept; the graph is taken to be only read.
 */
import { z } from 'zod'
import { EnvironmentFault } from '../../contract/environment.ts'
import type { Derivation, SetDerivation } from './derivation.ts'
import { CostlyQuestion, type KnowledgeGraph, type Members, sorted } from './graph.ts'
import type { Ontology } from './ontology.ts'
import { isSafeName, QueryWriter } from './sparql.ts'

export interface EndpointOptions {
  /** The address of the endpoint, http or https; a user and password in it are sent as basic authentication. */
  readonly url: string
  /** The prefix of every name. */
  readonly namespace: string
  /** Deadline of a query. */
  readonly timeoutMs: number
  /** Members or relations that are read at most. */
  readonly maxRows: number
  /** Relations, attributes and the types that they lead to; without them the endpoint is asked. */
  readonly ontology?: Ontology | undefined
  /** How requests are sent; by default over the network. */
  readonly send?: (request: Request, init: { readonly signal: AbortSignal }) => Promise<Response>
}

// Servers commonly refuse longer addresses.
const longestGet = 2000
// Far above what the row limit allows of identifiers; texts of a graph may be long.
const longestAnswer = 64 * 1024 * 1024
// A whole group asks the same questions; about a hundred groups' worth.
const keptAnswers = 2000
// An endpoint that is alive answers that anything is so at once.
const probeMs = 5000

const answerSchema = z.object({
  results: z.object({
    bindings: z.array(z.object({ value: z.object({ type: z.string(), value: z.string() }).optional() })),
  }),
})

/** Opens a graph; the endpoint is first asked when a tool needs it. */
export function openEndpoint(options: EndpointOptions): KnowledgeGraph {
  return new EndpointGraph(options)
}

class EndpointGraph implements KnowledgeGraph {
  readonly #options: EndpointOptions
  readonly #writer: QueryWriter
  readonly #url: URL
  readonly #headers: Record<string, string>
  readonly #answers = new Map<string, Promise<readonly string[]>>()
  readonly #closed = new AbortController()

  constructor(options: EndpointOptions) {
    this.#options = options
    this.#writer = new QueryWriter(options.namespace)
    this.#url = new URL(options.url)
    const { username, password } = this.#url
    this.#url.username = ''
    this.#url.password = ''
    this.#headers = { accept: 'application/sparql-results+json' }
    if (username !== '') {
      const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
      this.#headers.authorization = `Basic ${Buffer.from(pair).toString('base64')}`
    }
  }

  find(name: string): string | undefined {
    // Whether it has edges is found out by asking for them, as AgentBench does.
    return isSafeName(name) ? name : undefined
  }

  async relations(set: SetDerivation): Promise<readonly string[]> {
    const { ontology, maxRows } = this.#options
    const found = await this.#ask(this.#writer.relations(set, maxRows))
    return sorted(found.filter((name) => isSafeName(name) && (ontology?.relations.has(name) ?? true)))
  }

  async attributes(set: SetDerivation): Promise<readonly string[]> {
    const { ontology, maxRows } = this.#options
    const query =
      ontology === undefined ? this.#writer.attributes(set, maxRows) : this.#writer.relations(set, maxRows)
    const found = await this.#ask(query)
    return sorted(found.filter((name) => isSafeName(name) && (ontology?.attributes.has(name) ?? true)))
  }

  async members(set: Derivation): Promise<Members> {
    const { maxRows } = this.#options
    const found = await this.#ask(this.#writer.members(set, maxRows + 1))
    return { values: new Set(found.slice(0, maxRows)), complete: found.length <= maxRows }
  }

  async typeOf(relation: string): Promise<string | undefined> {
    const known = this.#options.ontology?.types.get(relation)
    if (known !== undefined) return known
    const [type] = await this.#ask(this.#writer.typeOf(relation))
    return type
  }

  sizeOf(): undefined {
    return undefined
  }

  async close(): Promise<void> {
    this.#closed.abort()
    this.#answers.clear()
  }

  #ask(query: string): Promise<readonly string[]> {
    const known = this.#answers.get(query)
    if (known !== undefined) return known
    const answer = this.#query(query)
    this.#answers.set(query, answer)
    // A query that failed may succeed the next time.
    answer.catch(() => this.#answers.delete(query))
    const [oldest] = this.#answers.keys()
    if (this.#answers.size > keptAnswers && oldest !== undefined) this.#answers.delete(oldest)
    return answer
  }

  async #query(query: string): Promise<readonly string[]> {
    const text = await this.#send(query, this.#options.timeoutMs)
    const { namespace } = this.#options
    let document: unknown
    try {
      document = JSON.parse(text)
    } catch (cause) {
      throw this.#fault('answers with something that is no SPARQL JSON', cause)
    }
    const result = answerSchema.safeParse(document)
    if (!result.success) throw this.#fault('answers with JSON that is no SPARQL result', result.error)
    return result.data.results.bindings.flatMap(({ value }) => {
      if (value === undefined) return []
      if (value.type === 'uri' && value.value.startsWith(namespace))
        return [value.value.slice(namespace.length)]
      // Freebase's dates carry the offset of its servers; AgentBench leaves it out of answers.
      return [value.type === 'uri' ? value.value : value.value.replace('-08:00', '')]
    })
  }

  /** The body of the answer. */
  async #send(query: string, timeoutMs: number): Promise<string> {
    const deadline = AbortSignal.timeout(timeoutMs)
    try {
      const response = await this.#fetch(query, AbortSignal.any([deadline, this.#closed.signal]))
      if (response.ok) return await bodyOf(response)
      await response.body?.cancel()
      // Virtuoso's word for a query above its own limits; what it cannot parse, a 400, is no agent's doing.
      if (response.status === 500) throw new Refused()
      throw this.#fault(`answers with status ${response.status}`)
    } catch (cause) {
      if (cause instanceof EnvironmentFault || cause instanceof CostlyQuestion) throw cause
      if (this.#closed.signal.aborted) throw this.#fault('was closed', cause)
      const refused = cause instanceof Refused
      if (!refused && !deadline.aborted) throw this.#fault('cannot be reached', cause)
      await this.#probe(cause)
      const seconds = timeoutMs / 1000
      throw new CostlyQuestion(
        refused
          ? 'The graph cannot answer this.'
          : `The graph did not answer this within ${seconds} s: it is too much.`,
        { cause },
      )
    }
  }

  /** Tells a server that is down from a question that is too hard. @throws EnvironmentFault the former */
  async #probe(reason: unknown): Promise<void> {
    try {
      const signal = AbortSignal.any([AbortSignal.timeout(probeMs), this.#closed.signal])
      const response = await this.#fetch('ASK {}', signal)
      await response.body?.cancel()
      if (response.ok) return
    } catch {
      // Said below, with what came first.
    }
    throw this.#fault('does not answer', reason)
  }

  async #fetch(query: string, signal: AbortSignal): Promise<Response> {
    const { send = fetch } = this.#options
    const request = this.#request(query)
    try {
      return await send(request.clone(), { signal })
    } catch (cause) {
      if (signal.aborted) throw cause
      // A server may close a kept connection just when it is used again; a query only reads, so it is sent again.
      return send(request, { signal })
    }
  }

  #request(query: string): Request {
    const parameters = new URLSearchParams({ query })
    const { search } = this.#url
    if (query.length > longestGet)
      // URLSearchParams as a body is a form, which every SPARQL 1.1 endpoint reads.
      return new Request(this.#url, { method: 'POST', headers: this.#headers, body: parameters })
    const url = new URL(this.#url)
    url.search = search === '' ? String(parameters) : `${search}&${parameters}`
    return new Request(url, { headers: this.#headers })
  }

  #fault(what: string, cause?: unknown): EnvironmentFault {
    const reason = cause instanceof Error ? ` (${messageOf(cause)})` : ''
    return new EnvironmentFault('backend', `kg: the endpoint ${this.#url} ${what}${reason}`, { cause })
  }
}

/** The endpoint says that the query failed, but not why. */
class Refused extends Error {
  override readonly name = 'Refused'
  override readonly message = 'status 500'
}

/** fetch says why only in the cause. */
function messageOf({ message, cause }: Error): string {
  return (cause instanceof Error ? cause.message : message).replaceAll('\n', ' ').slice(0, 200)
}

async function bodyOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    if (size > longestAnswer)
      throw new CostlyQuestion('The answer of the graph is too long: ask for fewer members.')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
