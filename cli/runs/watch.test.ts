/** Watching a run to its end. */
import { expect, test } from 'vitest'
import type { RunProgress } from '../../client/session/training-session.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { watchRun } from './watch.ts'

const going: RunProgress = {
  run: 'demo',
  phase: 'training',
  version: 1,
  step: 1,
  updates: 2,
  episodesInFlight: 0,
  groupsInFlight: 0,
  groupsReady: 0,
  staleness: 0,
  episodes: 0,
  tokens: 0,
  success: {},
  reward: {},
  samples: {},
  evaluations: [],
  emptyUpdates: 0,
  startedAt: 0,
}
const done: RunProgress = { ...going, phase: 'done', step: 2 }
const never = new Promise<never>(() => undefined)

function recorder(): Terminal & { readonly lines: string[] } {
  const lines: string[] = []
  return {
    lines,
    interactive: false,
    columns: 80,
    tableColumns: 80,
    colours: false,
    say: (line) => lines.push(String(line)),
    draw: () => undefined,
    settle: () => undefined,
    report: () => undefined,
  }
}

test('ends with what the run itself answers when it is over', async () => {
  const terminal = recorder()
  const session = { uiUrl: undefined, stopped: never, progress: async () => going, result: async () => done }
  const watched = await watchRun(session, 'demo', terminal, new AbortController().signal)
  expect(watched).toEqual({ ended: true, progress: done })
  expect(terminal.lines.at(-1)).toMatch(/demo: done$/)
})

test('leaves when the person wants to, and says that the run did not end', async () => {
  const interrupt = new AbortController()
  const session = {
    uiUrl: undefined,
    stopped: never,
    result: () => never,
    progress: async () => {
      interrupt.abort()
      return going
    },
  }
  const watched = await watchRun(session, 'demo', recorder(), interrupt.signal)
  expect(watched.ended).toBe(false)
})

test('a look that fails does not end it', async () => {
  const session = {
    uiUrl: undefined,
    stopped: never,
    progress: () => Promise.reject(new Error('busy')),
    result: async () => done,
  }
  const watched = await watchRun(session, 'demo', recorder(), new AbortController().signal)
  expect(watched.ended).toBe(true)
})

test('workers that stop before the run ended are a fault that says how to continue', async () => {
  const session = {
    uiUrl: undefined,
    stopped: Promise.resolve(),
    progress: async () => going,
    result: () => never,
  }
  await expect(watchRun(session, 'demo', recorder(), new AbortController().signal)).rejects.toThrow(
    'perdure resume demo',
  )
})
