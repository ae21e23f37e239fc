/**
 * A connection of a WebSocket that asks and is answered: one message there, one message back.
 *
 * Node's own `WebSocket` cannot end a connection to a server that has stopped answering, and holds a message of any size.
 *
 * Invariants
 * - [SOCKET-1] A request ends: with its answer, or within its limit with the fault of a lost session.
 * - [SOCKET-2] A message beyond its bound is refused by its announced length, before it is there.
 * - [SOCKET-3] A connection that was lost or closed is gone at once, whatever the server does.
 */
import { WebSocket } from 'ws'
import { reasonOf } from '../../../faults/reason.ts'
import { clock } from '../../../machine/services/clock.ts'
import { EnvironmentFault } from '../../contract/environment.ts'

/** Whom to connect to. */
export interface SocketOptions {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  /** The server in messages. */
  readonly shown: string
  readonly connectMs: number
  readonly messageBytes: number
}

/** Connects. @throws EnvironmentFault `backend` where it cannot be */
export function connectSocket(options: SocketOptions): Promise<RequestSocket> {
  const { url, headers, shown, connectMs, messageBytes } = options
  const { promise, resolve, reject } = Promise.withResolvers<RequestSocket>()
  const socket = new WebSocket(url, {
    headers,
    maxPayload: messageBytes,
    perMessageDeflate: false,
  })
  const fail = (cause: Error) => {
    late.cancel()
    const words = `${shown}: no WebSocket at ${url.pathname} (${reasonOf(cause)})`
    reject(new EnvironmentFault('backend', words, { cause }))
  }
  // A limit of the package's own would begin again with every byte of a slow answer.
  const late = clock.after(connectMs, () => {
    fail(new Error(`no answer within ${connectMs / 1000} s`))
    socket.terminate()
  })
  socket.once('error', fail)
  socket.once('open', () => {
    late.cancel()
    socket.off('error', fail)
    resolve(new RequestSocket(socket, shown, messageBytes))
  })
  return promise
}

interface Waiting {
  readonly resolve: (message: string) => void
  readonly reject: (fault: EnvironmentFault) => void
}

/** A connection that is open. */
export class RequestSocket {
  readonly #socket: WebSocket
  readonly #shown: string
  #waiting: Waiting | undefined
  /** A message that came before it was asked for, such as a refusal. */
  #early: string | undefined
  #fault: EnvironmentFault | undefined

  constructor(socket: WebSocket, shown: string, messageBytes: number) {
    this.#socket = socket
    this.#shown = shown
    socket.on('message', (data, isBinary) => {
      if (isBinary) this.#lose('sent a message that is no text')
      else this.#hear(data.toString())
    })
    socket.on('error', (cause: NodeJS.ErrnoException) => {
      const isTooLong = cause.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH'
      const reason = isTooLong ? `a message of more than ${messageBytes} bytes` : reasonOf(cause)
      this.#lose(`the connection was lost (${reason})`, cause)
    })
    socket.once('close', () => this.#lose('the server ended the session'))
  }

  /**
   * Sends a message and waits for its answer.
   * @param what names the request in messages
   * @throws EnvironmentFault `session_lost`; the connection is gone then
   */
  async request(message: string, what: string, withinMs: number): Promise<string> {
    if (this.#early !== undefined) {
      const early = this.#early
      this.#early = undefined
      return early
    }
    if (this.#fault !== undefined) throw this.#fault
    if (this.#waiting !== undefined) throw this.#lose(`was still at work when it was asked for ${what}`)
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    this.#waiting = { resolve, reject }
    const late = clock.after(withinMs, () => this.#lose(`did not answer ${what} within ${withinMs / 1000} s`))
    try {
      this.#socket.send(message)
      return await promise
    } finally {
      late.cancel()
      this.#waiting = undefined
    }
  }

  /** Ends the connection with what the server did wrong. @returns the fault */
  lose(words: string): EnvironmentFault {
    return this.#lose(words)
  }

  /** Says goodbye and ends the connection, whether the server answers or not. */
  close(): void {
    if (this.#fault !== undefined) return
    this.#fault = new EnvironmentFault('session_lost', `${this.#shown}: the session was closed`)
    this.#waiting?.reject(this.#fault)
    // The goodbye is written at once where the server reads; one that does not is not waited for.
    this.#socket.close()
    this.#socket.terminate()
  }

  #hear(message: string): void {
    if (this.#waiting !== undefined) {
      this.#waiting.resolve(message)
      this.#waiting = undefined
    } else if (this.#early === undefined) this.#early = message
    else this.#lose('sent more messages than it was asked for')
  }

  /** The first reason is kept. */
  #lose(words: string, cause?: unknown): EnvironmentFault {
    this.#fault ??= new EnvironmentFault('session_lost', `${this.#shown}: ${words}`, { cause })
    this.#waiting?.reject(this.#fault)
    this.#socket.terminate()
    return this.#fault
  }
}
