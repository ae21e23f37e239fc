/** The codec server's answers are readable to the UI of an embedded server, wherever that listens, and to no other page. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it, vi } from 'vitest'
import { eventually, removeHome, startPerdure, temporaryHome } from '../support/perdure-process.ts'

const home = temporaryHome()
afterAll(() => {
  vi.unstubAllEnvs()
  removeHome(home)
})

it('a UI on any port of an embedded server may read, a page of another origin may not', async () => {
  vi.stubEnv('PERDURE_PAYLOAD_KEYS', `a:${Buffer.alloc(32, 1).toString('base64')}`)
  vi.stubEnv('PERDURE_TEMPORAL_PORT', '21000')
  const record = { port: 30_000, uiPort: 31_234, serverVersion: '1.0.0' }
  writeFileSync(join(home, 'temporal.json'), JSON.stringify(record))
  const server = startPerdure(home, 'codec-server', '--json')
  try {
    const { endpoint } = await eventually('the address', async () => {
      const text = server.output()
      return text.includes('}')
        ? (JSON.parse(text.slice(0, text.indexOf('}') + 1)) as { endpoint: string })
        : undefined
    })
    const mayRead = async (origin: string) => {
      const headers = { origin, 'content-type': 'application/json' }
      const answer = await fetch(`${endpoint}/decode`, { method: 'POST', headers, body: '{"payloads":[]}' })
      return answer.headers.get('access-control-allow-origin') === origin
    }
    for (const port of [22_000, 22_001, 22_017, 31_234])
      for (const host of ['localhost', '127.0.0.1'])
        expect([port, await mayRead(`http://${host}:${port}`)]).toEqual([port, true])
    for (const origin of ['http://evil.example', 'http://localhost:80', 'http://localhost:31235'])
      expect([origin, await mayRead(origin)]).toEqual([origin, false])
  } finally {
    await server.killGroup()
  }
}, 60_000)
