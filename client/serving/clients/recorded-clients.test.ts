/**
 * Requests as the unmodified clients sent them, and the answers with which they were content: openai, anthropic, openai-agents in
 * both its forms, and verifiers' renderer client. `python-clients.nightly.test.ts` runs the clients themselves.
 */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { listen, type PolicyServer } from '../policy-server.ts'
import { lookingPolicy } from '../scripted-policy.testing.ts'

const recorded = z
  .array(
    z.strictObject({
      client: z.string(),
      path: z.string(),
      headers: z.record(z.string(), z.string()),
      body: z.looseObject({ stream: z.boolean().nullish() }),
      answer: z.unknown(),
    }),
  )
  .parse(JSON.parse(readFileSync(new URL('recorded-clients.json', import.meta.url), 'utf8')))

let server: PolicyServer

beforeAll(async () => {
  server = await listen(lookingPolicy(), { port: 0 })
})

afterAll(() => server.close())

/** An answer without the names and times that are new in each. */
function timeless(text: string): string {
  return text
    .replace(/(chatcmpl-|cmpl-|resp_|msg_|fc_|call_|toolu_)[0-9a-f]{24}/g, '$1ID')
    .replace(/"(created|created_at)":\d+/g, '"$1":0')
    .replace(/"request_id":"[^"]*"/g, '"request_id":"ID"')
}

test.each(recorded.map((one, index) => ({ name: `${index} ${one.client} ${one.path}`, ...one })))(
  'the request $name gets the recorded answer',
  async ({ path, headers, body, answer }) => {
    const response = await fetch(server.url.replace(/\/v1$/, path), {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const text = timeless(await response.text())
    const found: unknown = body.stream === true ? text.split('\n\n').slice(0, -1) : JSON.parse(text)
    expect(found).toEqual(answer)
  },
)
