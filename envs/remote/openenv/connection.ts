/**
 * A session of an OpenEnv server: a connection of its WebSocket `/ws`, which owns one environment (openenv 0.10, openenv-core 0.3).
 *
 * Invariants
 * - [OPENENV-1] A lost connection, a missed limit, a failed environment or an answer of another form is `session_lost`, never an
 *   observation.
 * - [OPENENV-2] An action that the server finds invalid is its answer in words; the session continues.
 */
import { z } from 'zod'
import { readJson } from '../../../messages/read-json.ts'
import { EnvironmentFault } from '../../contract/environment.ts'
import { addressOf, answerBytes, excerpt, healthMs, type RemoteServer, ServerFull } from '../base/server.ts'
import { connectSocket, type RequestSocket } from '../base/web-socket.ts'

const errorSchema = z.object({
  message: z.string().catch('no reason'),
  code: z.string().catch('unknown'),
  errors: z.array(z.object({ loc: z.array(z.union([z.string(), z.number()])), msg: z.string() })).catch([]),
})
const answerSchema = z.union([
  z.object({
    type: z.literal('observation'),
    data: z.object({ observation: z.unknown(), reward: z.unknown().optional(), done: z.boolean() }),
  }),
  z.object({ type: z.literal('error'), data: errorSchema }),
])

/** An observation. The reward is as the server wrote it. */
export interface Observed {
  readonly observation: unknown
  readonly reward?: unknown
  readonly done: boolean
}

/** The server finds what it was sent invalid, in its words. */
export interface Refused {
  readonly invalid: string
}

/** A session. */
export class OpenEnvConnection {
  readonly #socket: RequestSocket
  readonly #shown: string

  private constructor(socket: RequestSocket, shown: string) {
    this.#socket = socket
    this.#shown = shown
  }

  /** @throws EnvironmentFault `backend` */
  static async open(server: RemoteServer, withinMs = healthMs): Promise<OpenEnvConnection> {
    const { shown } = server.address
    const connectMs = Math.min(withinMs, healthMs)
    const url = addressOf(server, '/ws')
    const { headers } = server
    const socket = await connectSocket({ url, headers, shown, connectMs, messageBytes: answerBytes })
    return new OpenEnvConnection(socket, shown)
  }

  /** Starts an episode. @throws EnvironmentFault; ServerFull */
  async reset(data: object, withinMs: number): Promise<Observed | Refused> {
    return await this.#ask('reset', JSON.stringify(data), withinMs)
  }

  /** @param action JSON text @throws EnvironmentFault `session_lost` */
  async step(action: string, withinMs: number): Promise<Observed | Refused> {
    return await this.#ask('step', action, withinMs)
  }

  close(): void {
    this.#socket.close()
  }

  async #ask(type: 'reset' | 'step', data: string, withinMs: number): Promise<Observed | Refused> {
    const text = await this.#socket.request(`{"type":"${type}","data":${data}}`, type, withinMs)
    const read = answerSchema.safeParse(readJson(text))
    if (!read.success)
      throw this.#socket.lose(`answered ${type} in a form that is not OpenEnv's: ${excerpt(text)}`)
    const answer = read.data
    if (answer.type === 'observation') return answer.data
    const { code, message, errors } = answer.data
    if (code === 'VALIDATION_ERROR') return { invalid: wordsOf(message, errors) }
    this.#socket.close()
    if (code === 'CAPACITY_REACHED') throw new ServerFull(message)
    throw new EnvironmentFault(
      'session_lost',
      `${this.#shown}: ${type} failed there (${code}: ${excerpt(message)})`,
    )
  }
}

/** An action may break many rules; the agent reads the first. */
const rulesShown = 5

function wordsOf(message: string, errors: z.output<typeof errorSchema>['errors']): string {
  const rules = errors
    .slice(0, rulesShown)
    .map(({ loc, msg }) => (loc.length === 0 ? msg : `${loc.join('.')}: ${msg}`))
  const words = rules.length === 0 ? message : rules.join('; ')
  return words.length > 500 ? `${words.slice(0, 500)}…` : words
}
