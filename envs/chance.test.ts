/**
 * The reward of play that solves nothing, in the built-in problems of each task.
 */
import { expect, test, vi } from 'vitest'
import type { AssistantMessage } from '../messages/message.ts'
import type { Demonstration, Environment, Task } from './contract/environment.ts'
import { difficulties } from './contract/task-settings.ts'
import { findEnvironment } from './registry.ts'

// Hundreds of episodes are played: on a busy machine that takes longer than the usual limit.
vi.setConfig({ testTimeout: 120_000 })

/** Instances that are played, and demonstrations that tricks are learnt from. */
const played = 60
const seen = 150

const tasks = ['db', 'os', 'kg', 'webshop', 'alfworld'] as const
const cases = tasks.flatMap((task) => difficulties.map((difficulty) => ({ task, difficulty })))

/** The experts' most frequent last actions. */
function commonest(demonstrations: readonly Demonstration[], count: number): readonly AssistantMessage[] {
  const last = demonstrations.flatMap(({ actions }) => actions.slice(-1))
  const same = Map.groupBy(last, (action) => JSON.stringify(action))
  return [...same.values()]
    .toSorted((left, right) => right.length - left.length)
    .slice(0, count)
    .flatMap((actions) => actions.slice(0, 1))
}

async function share(
  task: Task,
  environment: Environment,
  actionsOf: (index: number) => readonly AssistantMessage[],
): Promise<number> {
  let full = 0
  for (let index = 0; index < played; index++) {
    await environment.reset(task.instanceAt('test', index))
    let reward = 0
    for (const action of actionsOf(index)) {
      const step = await environment.step(action)
      reward += step.reward
      if (step.done) break
    }
    if (reward >= 1) full++
  }
  return full / played
}

test.each(cases)(
  '$task, $difficulty: an expert takes four turns in the median, and no constant answer or borrowed solution is worth much',
  async ({ task: name, difficulty }) => {
    const definition = findEnvironment(name)
    const task = await definition.open({ settings: { difficulty } })
    const environment = await task.create()
    try {
      const demonstrations: Demonstration[] = []
      for (let index = 0; index < seen; index++) {
        const demonstration = await task.demonstrate?.(task.instanceAt('train', index))
        if (demonstration !== undefined) demonstrations.push(demonstration)
      }
      const turns = demonstrations
        .map(({ actions }) => actions.length)
        .toSorted((left, right) => left - right)
      expect(turns[Math.floor(turns.length / 2)]).toBeGreaterThanOrEqual(4)
      const constants = []
      for (const answer of commonest(demonstrations, 4))
        constants.push(await share(task, environment, () => [answer]))
      const borrowed = await share(
        task,
        environment,
        (index) => demonstrations[index % demonstrations.length]?.actions ?? [],
      )
      expect(Math.max(...constants)).toBeLessThanOrEqual(0.1)
      expect(borrowed).toBeLessThanOrEqual(0.1)
    } finally {
      await environment.close()
      await task.close()
    }
  },
)
