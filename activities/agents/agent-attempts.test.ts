import { CancelledFailure } from '@temporalio/common'
import { expect, it, vi } from 'vitest'
import { episodeId, groupId, runId } from '../../identity/identity.ts'
import { AgentAttempts } from './agent-attempts.ts'

const episode = episodeId(groupId(runId('demo'), 3), 2, 0)
const never = new AbortController().signal

/** Work that ends a moment after its signal, as a program does that has to be killed. */
function killed(signal: AbortSignal, log: string[], name: string): Promise<never> {
  log.push(`${name} begins`)
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () =>
      setImmediate(() => {
        log.push(`${name} is gone`)
        reject(signal.reason)
      }),
    )
  })
}

// [AGENT-ATTEMPT-1]
it('a new attempt ends the one before it, and begins when that is gone', async () => {
  const attempts = new AgentAttempts()
  const log: string[] = []
  const first = attempts.play(episode, never, (signal) => killed(signal, log, 'first'))
  await vi.waitFor(() => expect(log).toEqual(['first begins']))
  const second = attempts.play(episode, never, (signal) => killed(signal, log, 'second'))
  const third = attempts.play(episode, never, async () => log.push('third begins'))
  await expect(first).rejects.toBeInstanceOf(CancelledFailure)
  await expect(second).rejects.toBeInstanceOf(CancelledFailure)
  await third
  expect(log).toEqual(['first begins', 'first is gone', 'third begins'])
})

it('attempts at other episodes, and later ones, are left alone', async () => {
  const attempts = new AgentAttempts()
  const other = episodeId(groupId(runId('demo'), 4), 2, 0)
  const stop = new AbortController()
  const log: string[] = []
  const playing = attempts.play(episode, stop.signal, (signal) => killed(signal, log, 'first'))
  await attempts.play(other, never, async () => log.push('other'))
  stop.abort(new Error('enough'))
  await expect(playing).rejects.toThrow('enough')
  await attempts.play(episode, never, async (signal) => expect(signal.aborted).toBe(false))
  expect(log).toEqual(['first begins', 'other', 'first is gone'])
})
