import { describe, expect, it } from 'vitest'
import { unasked } from '../../envs/contract/question.ts'
import type { EpisodeId } from '../../identity/identity.ts'
import { simulatedClock } from '../../machine/services/clock.testing.ts'
import { withClock } from '../../machine/services/clock.ts'
import { createSessions, type LiveSession } from './sessions.ts'

function session(closed: string[], name: string): LiveSession {
  const environment = {
    tools: [],
    reset: () => Promise.reject(new Error('not played here')),
    step: () => Promise.reject(new Error('not played here')),
    close: async () => void closed.push(name),
  }
  const questions: LiveSession['questions'] = { ask: unasked, during: (_, work) => work() }
  return { environment, questions, turn: 0, seenTools: '' }
}

const a = 'run/g0/s0/a0' as EpisodeId
const b = 'run/g0/s1/a0' as EpisodeId
const c = 'run/g0/s2/a0' as EpisodeId

describe('sessions of a worker', () => {
  it('close the session that was not used for the idle time when another is opened, not the one in use', async () => {
    const closed: string[] = []
    const sessions = createSessions({ idleMs: 0 })
    sessions.set(a, session(closed, 'a'))
    const { promise: working, resolve: finish } = Promise.withResolvers<void>()
    const inUse = sessions.inTurn(a, () => working)
    sessions.set(b, session(closed, 'b'))
    expect(closed).toEqual([])
    finish()
    await inUse
    sessions.set(c, session(closed, 'c'))
    expect(closed).toEqual(['a', 'b'])
    expect(sessions.get(a)).toBeUndefined()
    expect(sessions.get(c)).toBeDefined()
  })

  it('do work on one session strictly in sequence, also after a failure', async () => {
    const sessions = createSessions()
    const order: number[] = []
    const failing = sessions.inTurn(a, async () => {
      await Promise.resolve()
      order.push(1)
      throw new Error('lost')
    })
    const after = sessions.inTurn(a, async () => void order.push(2))
    await expect(failing).rejects.toThrow('lost')
    await after
    expect(order).toEqual([1, 2])
  })

  it('close the session of an episode that is over, and not that of one that continues or is in use', () => {
    const clock = simulatedClock()
    return withClock(clock, async () => {
      const closed: string[] = []
      const asked: string[] = []
      const sessions = createSessions({
        lookEveryMs: 5,
        isOver: async (episode) => {
          asked.push(episode)
          return episode !== b
        },
      })
      for (const [name, episode] of Object.entries({ a, b, c })) sessions.set(episode, session(closed, name))
      const { promise: working, resolve: finish } = Promise.withResolvers<void>()
      const inUse = sessions.inTurn(c, () => working)
      await clock.advance(15)
      expect(closed).toEqual(['a'])
      expect(asked.filter((episode) => episode === b).length).toBeGreaterThan(1)
      expect(asked).not.toContain(c)
      finish()
      await inUse
      await clock.advance(10)
      expect(closed).toEqual(['a', 'c'])
      await sessions.closeAll()
      expect(closed).toEqual(['a', 'c', 'b'])
    })
  })

  it('forget an abandoned session at once, whether it can be closed or not', () => {
    const sessions = createSessions()
    const broken = session([], 'a')
    sessions.set(a, {
      ...broken,
      environment: { ...broken.environment, close: () => Promise.reject(new Error('stuck')) },
    })
    sessions.abandon(a)
    expect(sessions.get(a)).toBeUndefined()
  })
})
