import { expect, it } from 'vitest'
import { directCalls } from './services.ts'

// [SERVICES-1]
it.each([
  'const ended = Date.now()',
  'const name = new Date().toISOString()',
  'const since = performance.now()',
  "import { setTimeout as sleep } from 'node:timers/promises'",
  'setInterval(look, 1000)',
  "import { randomUUID } from 'node:crypto'",
  'const jitter = Math.random()',
  'await fetch(url, { signal: AbortSignal.timeout(1000) })',
])('a planted direct call is found: %s', (planted) => {
  expect(directCalls('activities/play/turns.ts', `/** Turns. */\n${planted}\n`)).toEqual([
    expect.stringContaining('activities/play/turns.ts:2 uses '),
  ])
  expect(directCalls('machine/services/clock.ts', planted)).toEqual([])
  expect(directCalls('activities/play/turns.test.ts', planted)).toEqual([])
  expect(directCalls('cli/runs/status.ts', planted)).toEqual([])
})

it('a comment, a given time and the services themselves are no direct calls', () => {
  const text = [
    '/** Not `Date.now()`. */',
    'const shown = new Date(created) // setTimeout',
    'const url = "http://localhost" ; clock.now()',
    "import { setImmediate } from 'node:timers/promises'",
  ]
  expect(directCalls('storage/store.ts', text.join('\n'))).toEqual([])
})
