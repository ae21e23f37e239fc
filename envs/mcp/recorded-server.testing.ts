/**
 * MCP servers that answer what real ones answered: as a program (`recorded-server.testing.ts NAME`), or over HTTP in this process. The
 * nightly test writes the recordings where `PERDURE_RECORD=1`.
 */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'

/** A request, and what was answered to it. */
export interface Exchange {
  readonly method: string
  readonly params?: unknown
  readonly answer: { readonly result?: unknown; readonly error?: unknown }
}

interface Message {
  readonly id?: number
  readonly method?: string
  readonly params?: unknown
  readonly result?: unknown
  readonly error?: unknown
}

/** The path of the program's folder, in a recording. */
const folderName = '/the/folder'

function fileOf(name: string): string {
  return join(import.meta.dirname, 'recorded', `${name}.json`)
}

/** Clients call themselves otherwise from release to release. */
function keyOf({ method, params }: Message): string {
  return JSON.stringify([method, method === 'initialize' ? undefined : params])
}

/** Writes down what a server answered. @param folder of the program, whose path differs each time */
export function record(name: string, of: string, exchanges: readonly Exchange[], folder = folderName): void {
  // Each process of a server adds to what others answered.
  const before = existsSync(fileOf(name)) ? recordedIn(name, folder) : []
  const known = new Map([...before, ...exchanges].map((exchange) => [keyOf(exchange), exchange]))
  const said = JSON.stringify({ of, exchanges: [...known.values()] }, withoutWorks, 1)
  writeFileSync(fileOf(name), `${said.replaceAll(folder, folderName)}\n`)
}

/** Texts and pictures that others made are left out: a recording keeps the form of the answers. */
function withoutWorks(key: string, value: unknown): unknown {
  const isLeftOut = ['description', 'title', 'instructions', 'data', 'src'].includes(key)
  return isLeftOut && typeof value === 'string' ? 'AAAA' : value
}

function recordedIn(name: string, folder: string): readonly Exchange[] {
  const said = readFileSync(fileOf(name), 'utf8').replaceAll(folderName, folder)
  return (JSON.parse(said) as { readonly exchanges: readonly Exchange[] }).exchanges
}

/** @returns the answers of a recording, in the protocol's form; to what was not recorded, a refusal */
function answersOf(name: string, folder: string): (asked: Message) => object {
  const known = new Map(recordedIn(name, folder).map((exchange) => [keyOf(exchange), exchange.answer]))
  return (asked) => ({
    jsonrpc: '2.0',
    id: asked.id,
    ...(known.get(keyOf(asked)) ?? { error: { code: -32000, message: `not recorded: ${keyOf(asked)}` } }),
  })
}

/** Answers over HTTP as recorded. */
export async function serveRecorded(name: string): Promise<{ readonly url: string; close(): void }> {
  const answer = answersOf(name, folderName)
  return await serve(async (asked) => answer(asked))
}

/** Passes requests over HTTP on to a real server. */
export async function recordAddress(
  url: string,
  exchanges: Exchange[],
): Promise<{ readonly url: string; close(): void }> {
  return await serve(async (asked, headers) => {
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(asked) })
    const said = await response.text()
    if (asked.id === undefined) return undefined
    const data = /^data: (\{.*)$/m.exec(said)?.[1] ?? said
    const { result, error } = JSON.parse(data) as Message
    const { method = '', params } = asked
    exchanges.push({ method, params, answer: error === undefined ? { result } : { error } })
    return { message: JSON.parse(data), session: response.headers.get('mcp-session-id') }
  })
}

type Answered = object & { readonly message?: object; readonly session?: string | null }

async function serve(
  answer: (asked: Message, headers: Record<string, string>) => Promise<Answered | undefined>,
): Promise<{ readonly url: string; close(): void }> {
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(200).end()
    const asked = JSON.parse(await text(request)) as Message
    const passed = ['accept', 'content-type', 'mcp-session-id', 'mcp-protocol-version'].flatMap((key) => {
      const value = request.headers[key]
      return typeof value === 'string' ? [[key, value]] : []
    })
    const answered = await answer(asked, Object.fromEntries(passed))
    if (answered === undefined || asked.id === undefined) return void response.writeHead(202).end()
    const session = answered.session ?? 'one'
    response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': session })
    response.end(JSON.stringify(answered.message ?? answered))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** @param command of a real server, whose answers are written down; without it they come from the recording */
function main([name = '', of = '', ...command]: readonly string[]): void {
  const [program, ...args] = command
  if (program === undefined) {
    const answer = answersOf(name, process.cwd())
    createInterface({ input: process.stdin }).on('line', (line) => {
      const asked = JSON.parse(line) as Message
      if (asked.id !== undefined) process.stdout.write(`${JSON.stringify(answer(asked))}\n`)
    })
    return
  }
  const exchanges: Exchange[] = []
  const asked = new Map<number, Message>()
  const real = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  createInterface({ input: process.stdin })
    .on('line', (line) => {
      const message = JSON.parse(line) as Message
      if (message.id !== undefined) asked.set(message.id, message)
      real.stdin.write(`${line}\n`)
    })
    .on('close', () => real.stdin.end())
  createInterface({ input: real.stdout }).on('line', (line) => {
    const { id, result, error } = JSON.parse(line) as Message
    const { method = '', params } = asked.get(id ?? -1) ?? {}
    exchanges.push({ method, params, answer: error === undefined ? { result } : { error } })
    record(name, of, exchanges, process.cwd())
    process.stdout.write(`${line}\n`)
  })
}

if (import.meta.main) main(process.argv.slice(2))
