/**
 * A connection of a WebSocket that asks and is answered: one message there, one message back (RFC 6455, without extensions).
 *
 * Node's own `WebSocket` cannot end a connection to a server that has stopped answering, and holds a message of any size.
 *
 * Invariants
 * - [SOCKET-1] A request ends: with its answer, or within its limit with the fault of a lost session.
 * - [SOCKET-2] A message beyond its bound is refused by its announced length, before it is there.
 * - [SOCKET-3] A connection that was lost or closed is gone at once, whatever the server does.
 */
import { createHash } from 'node:crypto'
import { type IncomingMessage, request as requestPlain } from 'node:http'
import { request as requestSecure } from 'node:https'
import type { Socket } from 'node:net'
import { reasonOf } from '../../../faults/reason.ts'
import { chance } from '../../../machine/services/chance.ts'
import { clock } from '../../../machine/services/clock.ts'
import { EnvironmentFault } from '../../contract/environment.ts'
import { FrameReader, opcodes, writeFrame } from './web-socket-frames.ts'

/** Whom to connect to. */
export interface SocketOptions {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  /** The server in messages. */
  readonly shown: string
  readonly connectMs: number
  readonly messageBytes: number
}

const magic = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

/** Connects. @throws EnvironmentFault `backend` where it cannot be */
export function connectSocket(options: SocketOptions): Promise<RequestSocket> {
  const { url, headers, shown, connectMs, messageBytes } = options
  const key = chance.bytes(16).toString('base64')
  const accepted = createHash('sha1')
    .update(key + magic)
    .digest('base64')
  const { promise, resolve, reject } = Promise.withResolvers<RequestSocket>()
  const fail = (words: string, cause?: unknown) =>
    reject(new EnvironmentFault('backend', `${shown}: ${words}`, { cause }))
  const asking = (url.protocol === 'https:' ? requestSecure : requestPlain)(url, {
    headers: {
      ...headers,
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': key,
    },
  })
  const late = clock.after(connectMs, () => {
    fail(`no WebSocket at ${url.pathname} within ${connectMs / 1000} s`)
    asking.destroy()
  })
  asking.once('error', (cause) => fail(`cannot be reached (${reasonOf(cause)})`, cause))
  asking.once('response', (response: IncomingMessage) => {
    response.destroy()
    fail(`no WebSocket at ${url.pathname}: it answered with status ${response.statusCode}`)
  })
  asking.once('upgrade', (response: IncomingMessage, socket: Socket, head: Buffer) => {
    if (response.headers['sec-websocket-accept'] !== accepted) {
      socket.destroy()
      fail(`no WebSocket at ${url.pathname}: its handshake is wrong`)
    } else resolve(new RequestSocket(socket, head, shown, messageBytes))
  })
  asking.end()
  return promise.finally(() => late.cancel())
}

interface Waiting {
  readonly resolve: (message: string) => void
  readonly reject: (fault: EnvironmentFault) => void
}

/** A connection that is open. */
export class RequestSocket {
  readonly #socket: Socket
  readonly #frames: FrameReader
  readonly #shown: string
  #waiting: Waiting | undefined
  /** A message that came before it was asked for, such as a refusal. */
  #early: string | undefined
  #fault: EnvironmentFault | undefined

  constructor(socket: Socket, head: Buffer, shown: string, messageBytes: number) {
    this.#socket = socket
    this.#shown = shown
    this.#frames = new FrameReader(messageBytes)
    socket.setNoDelay(true)
    socket.on('data', (chunk: Buffer) => this.#read(chunk))
    socket.once('error', (cause) => this.#lose(`the connection was lost (${reasonOf(cause)})`))
    socket.once('close', () => this.#lose('the connection was lost'))
    if (head.length > 0) this.#read(head)
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
      this.#socket.write(writeFrame(opcodes.text, Buffer.from(message), chance.bytes(4)))
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
    // 1000: the purpose of the connection is fulfilled.
    const farewell = writeFrame(opcodes.close, Buffer.from([0x03, 0xe8]), chance.bytes(4))
    this.#socket.write(farewell, () => this.#socket.destroy())
    if (this.#socket.writableNeedDrain) this.#socket.destroy()
  }

  #read(chunk: Buffer): void {
    try {
      for (const { opcode, payload } of this.#frames.read(chunk)) {
        if (opcode === opcodes.ping) this.#socket.write(writeFrame(opcodes.pong, payload, chance.bytes(4)))
        else if (opcode === opcodes.close) this.#lose('the server closed the session')
        else if (opcode === opcodes.text) this.#hear(payload.toString('utf8'))
        else if (opcode !== opcodes.pong) this.#lose('sent a message that is no text')
      }
    } catch (cause) {
      this.#lose(reasonOf(cause), cause)
    }
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
    this.#socket.destroy()
    return this.#fault
  }
}
