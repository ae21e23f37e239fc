import { afterAll, beforeAll, expect, test } from 'vitest'
import { homeWithRun } from '../../client/serving/small-run.testing.ts'
import { type PerdureProcess, removeHome, startPerdure } from '../../test/support/perdure-process.ts'

let home: string
let served: PerdureProcess

beforeAll(async () => {
  home = await homeWithRun('demo')
  served = startPerdure(home, 'serve', 'demo', '--port', '0', '--json')
})

afterAll(async () => {
  await served.killGroup()
  removeHome(home)
})

test('the address is the first line, answers, and Ctrl-C ends it with 0', async () => {
  await expect.poll(() => served.output(), { timeout: 60_000 }).toContain('"url"')
  const { url } = JSON.parse(
    served
      .output()
      .split('\n')
      .find((line) => line.startsWith('{')) ?? '',
  )
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/)
  const response = await fetch(`${url}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo@3', messages: [{ role: 'user', content: 'look' }], max_tokens: 2 }),
  })
  expect(await response.json()).toMatchObject({ object: 'chat.completion', model: 'demo@3' })
  served.child.kill('SIGINT')
  const { code, stdout } = await served.ended
  expect({ code, lines: stdout.trim().split('\n').length }).toEqual({ code: 0, lines: 1 })
}, 120_000)

test('a run or a version that is not there is a wrong call', async () => {
  for (const [name, words] of [
    ['other', /no such run/],
    ['demo@7', /keeps no version 7/],
  ] as const) {
    const { code, stderr } = await startPerdure(home, 'serve', name).ended
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(words) })
  }
}, 120_000)
