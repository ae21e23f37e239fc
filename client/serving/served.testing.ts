/** A server of a small run for the tests of a form. */
import { rm } from 'node:fs/promises'
import { type PolicyServer, servePolicy } from './policy-server.ts'
import { homeWithRun } from './small-run.testing.ts'

export interface ServedForm extends AsyncDisposable {
  readonly home: string
  readonly server: PolicyServer
  /** Posts to a path below the root. */
  post(path: string, body: unknown, headers?: Readonly<Record<string, string>>): Promise<Response>
  /** Posts, and reads an answer that is JSON. */
  ask(path: string, body: unknown): Promise<{ readonly status: number; readonly body: unknown }>
}

export async function serveForm(): Promise<ServedForm> {
  const home = await homeWithRun('demo')
  const server = await servePolicy({ home, run: 'demo', port: 0, log: () => undefined })
  const root = server.url.replace(/\/v1$/, '')
  const post: ServedForm['post'] = (path, body, headers) =>
    fetch(`${root}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  return {
    home,
    server,
    post,
    async ask(path, body) {
      const response = await post(path, body)
      return { status: response.status, body: await response.json() }
    },
    async [Symbol.asyncDispose]() {
      await server.close()
      await rm(home, { recursive: true, force: true })
    },
  }
}

/** The events of a stream. */
export async function eventsOf(response: Response): Promise<readonly { event?: string; data: unknown }[]> {
  return (await response.text())
    .split('\n\n')
    .filter((event) => event !== '' && !event.startsWith(':'))
    .map((event) => {
      const [, name] = /^event: (.*)$/m.exec(event) ?? []
      const [, line = ''] = /^data: (.*)$/m.exec(event) ?? []
      const data: unknown = line === '[DONE]' ? line : JSON.parse(line)
      return name === undefined ? { data } : { event: name, data }
    })
}
