/**
 * A call of an engine's server: JSON there, JSON back.
 *
 * Invariants
 * - [CALL-1] An answer is waited for as long as the caller says, and no longer. `fetch` would give up after 300 s
 *   without headers.
 * - [CALL-2] A call that is cancelled closes its connection, by which a server ends what it computes for it.
 * - [CALL-3] An answer beyond its bound is cut off and named; it is never held as a whole.
 * - [CALL-4] An idle connection is closed before servers close it, so that a call seldom meets one that is closed. No call is made
 *   again unseen: behind the same address another server may stand, which is asked for its canary first.
 * - Every failure is an `EngineFault` that names the server: `unreachable` where another server, or a later try, may
 *   do; `refused` where no try can; `wrong_answer` for what is no JSON.
 */
import { Agent, type IncomingMessage, request as requestPlain } from 'node:http'
import { request as requestSecure, Agent as SecureAgent } from 'node:https'
import { reasonOf } from '../../faults/reason.ts'
import { EngineFault } from '../engines/engine.ts'

/** How servers are called. */
export interface CallOptions {
  readonly apiKey?: string | undefined
  /** Milliseconds until the whole answer is there. */
  readonly answerMs: number
  /** Bytes of an answer at most. */
  readonly answerBytes: number
  readonly signal?: AbortSignal | undefined
}

/** A request; without a body it is a GET. */
export interface ServerRequest {
  readonly url: string
  readonly path: string
  readonly body?: unknown
}

/** A server's words in a message. */
const quotedCharacters = 300
/** Milliseconds after which an idle connection is closed; uvicorn, under vLLM and SGLang, closes after five seconds. */
const idleMs = 3_000
const kept = { keepAlive: true, timeout: idleMs }
const agents = { plain: new Agent(kept), secure: new SecureAgent(kept) }

/**
 * Calls a server.
 * @returns the parsed JSON of an answer with status 200, null where its body is empty
 * @throws EngineFault `unreachable`, `refused`, `wrong_answer`; the reason of the signal where it aborts
 */
export async function callServer(request: ServerRequest, options: CallOptions): Promise<unknown> {
  const { url, path } = request
  const text = await callForText(request, options)
  if (text.trim() === '') return null
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new EngineFault(
      'wrong_answer',
      `${shown(url)}${path} answered with what is no JSON: ${quote(text)}`,
      {
        cause,
      },
    )
  }
}

/** An address without its password. */
export function shown(url: string): string {
  return url.replace(/\/\/[^/@]*@/, '//')
}

/** The address of a path of a server, whose own address may have one too. */
function addressOf({ url, path }: ServerRequest): URL {
  return new URL(url.replace(/\/+$/, '') + path)
}

/**
 * Calls a server whose answer may be any text.
 * @throws EngineFault `unreachable`, `refused`, `wrong_answer` for too long a one; the reason of the signal where it aborts
 */
export async function callForText(asked: ServerRequest, options: CallOptions): Promise<string> {
  const { apiKey, answerMs, answerBytes, signal } = options
  signal?.throwIfAborted()
  const tooLate = AbortSignal.timeout(answerMs)
  const ended = signal === undefined ? tooLate : AbortSignal.any([signal, tooLate])
  const name = shown(asked.url)
  try {
    const response = await send(asked, apiKey, ended)
    const text = await bodyOf(response, answerBytes, `${name}${asked.path}`)
    const status = response.statusCode ?? 0
    if (status !== 200) throw statusFault(`${name}${asked.path}`, status, text)
    return text
  } catch (cause) {
    signal?.throwIfAborted()
    if (cause instanceof EngineFault) throw cause
    throw new EngineFault(
      'unreachable',
      tooLate.aborted
        ? `${name}${asked.path} has not answered within ${answerMs / 1000} s`
        : `${name} cannot be reached (${reasonOf(cause)})`,
      { cause },
    )
  }
}

function send(
  asked: ServerRequest,
  apiKey: string | undefined,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const address = addressOf(asked)
  const isSecure = address.protocol === 'https:'
  const body = asked.body === undefined ? undefined : Buffer.from(JSON.stringify(asked.body))
  return new Promise((resolve, reject) => {
    const request = (isSecure ? requestSecure : requestPlain)(address, {
      method: body === undefined ? 'GET' : 'POST',
      agent: isSecure ? agents.secure : agents.plain,
      signal,
      headers: {
        accept: 'application/json',
        ...(body === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': String(body.byteLength) }),
        ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      },
    })
    request.once('response', resolve)
    request.once('error', reject)
    request.end(body)
  })
}

async function bodyOf(response: IncomingMessage, answerBytes: number, name: string): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.byteLength
    if (size > answerBytes) {
      response.destroy()
      throw new EngineFault(
        'wrong_answer',
        `${name} answered with more than ${answerBytes} bytes, which no answer to what it was asked can have`,
      )
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** 408, 429 and 5xx may pass: a server that loads, is full or has lost a part. */
function statusFault(name: string, status: number, text: string): EngineFault {
  const mayPass = status >= 500 || status === 408 || status === 429
  return new EngineFault(
    mayPass ? 'unreachable' : 'refused',
    `${name} answered with status ${status}: ${quote(text)}`,
  )
}

function quote(text: string): string {
  const flat = text.replaceAll(/\s+/g, ' ').trim()
  return flat.length > quotedCharacters ? `${flat.slice(0, quotedCharacters)}…` : flat
}
