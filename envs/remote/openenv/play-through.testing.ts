/** One play against a server, real or recorded. */
import { expect } from 'vitest'
import { remoteEnvironment } from '../remote-environment.ts'
import type { Play } from './plays.testing.ts'

/** Plays it, and holds what comes back against what it says. @param url http://HOST:PORT */
export async function playThrough(play: Play, url: string): Promise<void> {
  const definition = remoteEnvironment(`openenv+${url}`, 'played', { settings: play.settings })
  const task = await definition.open({ settings: play.settings })
  const session = await task.create()
  try {
    const { messages } = await session.reset(play.instance)
    expect(messages).toEqual([{ role: 'user', content: play.first }])
    expect(session.tools.map((tool) => tool.function.name)).toEqual(play.tools)
    let reward = 0
    for (const [turn, [action, replies]] of play.turns.entries()) {
      const step = await session.step(action)
      expect(step.messages.map(({ content }) => content)).toEqual(
        replies.map((reply) => expect.stringMatching(reply)),
      )
      reward += step.reward
      expect(step.done).toBe(turn === play.turns.length - 1)
      expect(step.outcome).toBe(step.done ? 'completed' : undefined)
    }
    expect(reward).toBe(play.reward)
  } finally {
    await session.close()
    await task.close()
  }
}
