/** Environments that throw or hang: what fails alone is left out, what fails everywhere ends the run, with task, instance and reason. */
import { afterAll, describe, expect, it } from 'vitest'
import { openSession } from '../../client/session/training-session.ts'
import type { EnvironmentDefinition } from '../../envs/contract/environment.ts'
import { createEchoTask } from '../support/echo-task.ts'
import { removeHome, temporaryHome } from '../support/perdure-process.ts'
import {
  createCopyingTrainer,
  createSpeakingEngine,
  openTinySession,
  sayYesOrNo,
  tinyConfig,
} from '../support/tiny-run.ts'

const home = temporaryHome()
afterAll(() => removeHome(home))

describe('an environment that throws in rollouts', () => {
  const rollout = { maxAttempts: 1 }

  /** A session of a task that throws at the first step of some instances. */
  function openThrowing(name: string, throws: (instance: string) => boolean) {
    const task = createEchoTask({
      name,
      beforeStep({ instance }) {
        if (throws(instance)) throw new Error('no board')
      },
    })
    return openSession({
      ...{ home, roles: 'all', log: () => undefined },
      createEngine: () => Promise.resolve(createSpeakingEngine(sayYesOrNo)),
      createTrainer: () => createCopyingTrainer(),
      findEnvironment: () => smallSplit(task.definition),
    })
  }

  /** Three instances for training, so that each would come again. */
  function smallSplit(of: EnvironmentDefinition): EnvironmentDefinition {
    return {
      ...of,
      async open(options) {
        const task = await of.open(options)
        return {
          ...task,
          splits: [{ name: 'train', size: 3 }, ...task.splits.filter(({ name }) => name !== 'train')],
          instanceAt: (split, index) => `${split}/${index % 3}`,
        }
      },
    }
  }

  it('on one instance is left out, counted and named, and the others are trained on', async () => {
    await using session = await openThrowing('partly', (instance) => instance === 'train/1')
    await session.start('partly', tinyConfig({ rollout, training: { updates: 4 } }, 'partly'))
    expect(await session.result('partly')).toMatchObject({
      ...{ phase: 'done', step: 4 },
      leftOut: { count: 1, reason: 'step of partly on train/1 failed: no board' },
    })
  }, 120_000)

  it('on every instance ends the run, with task, instance and reason', async () => {
    await using session = await openThrowing('wholly', () => true)
    await session.start('wholly', tinyConfig({ rollout, training: { updates: 4 } }, 'wholly'))
    await expect(session.result('wholly')).rejects.toThrow(
      /run wholly failed: no instance can be played: the last \d+ groups failed .* step of wholly on train\/\d failed: no board/,
    )
  }, 120_000)
})

describe('an expert of the warm start', () => {
  const config = { training: { updates: 1 }, warmStart: { demonstrations: 8 } }
  const never = (): Promise<never> => new Promise(() => undefined)
  const fail = (): Promise<never> => Promise.reject(new Error('no way out'))

  /** A session of a task whose expert does nothing but that. */
  function openWith(name: string, demonstrate: () => Promise<never>) {
    const { definition } = createEchoTask({ name, stepTimeoutSeconds: 5 })
    return openTinySession(home, {
      ...definition,
      open: async (options) => ({ ...(await definition.open(options)), demonstrate }),
    })
  }

  it.each([
    ['throws', fail, 'failed: no way out'],
    ['never answers', never, 'did not answer within 5 s'],
  ] as const)(
    'that %s ends the run, with task, instance and reason',
    async (does, failing, reason) => {
      const name = does.replace(' ', '-')
      await using session = await openWith(name, failing)
      await session.start(name, tinyConfig(config, name))
      await expect(session.result(name)).rejects.toThrow(
        new RegExp(
          `run ${name} failed: no instance can be played for demonstrations: .*demonstrate of ${name} on train/\\d+ ${reason}`,
        ),
      )
    },
    120_000,
  )
})
