/**
 * A synchronous run is a function of its configuration: the same bytes, whatever it is called, whatever the timing and
 * whatever failed.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openSession } from '../../client/session/training-session.ts'
import { loadConfig } from '../../config/files/loader.ts'
import {
  type Environment,
  type EnvironmentDefinition,
  EnvironmentFault,
} from '../../envs/contract/environment.ts'
import { findEnvironment } from '../../envs/registry.ts'
import { parseEpisodeId, runId, yieldsToTraining } from '../../identity/identity.ts'
import { manifestFile } from '../../policy/checkpoints/manifest.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { readMetrics } from '../../storage/metrics/metrics.testing.ts'
import { openStore } from '../../storage/store.ts'
import { removeHome, temporaryHome } from '../support/perdure-process.ts'

const updates = 2
const undisturbed = { home: temporaryHome(), run: runId('one') }
const disturbed = { home: temporaryHome(), run: runId('other-20260101-120000') }

beforeAll(async () => {
  const set = [
    'rollout.maxStaleness=0',
    'rollout.refill=1',
    `training.updates=${updates}`,
    'evaluation.suites.0.episodes=4',
    'evaluation.suites.0.samples=2',
    'evaluation.suites.0.temperature=1',
  ]
  for (const [{ home, run }, find] of [
    [undisturbed, findEnvironment],
    [disturbed, (name: string) => failing(findEnvironment(name))],
  ] as const) {
    const session = await openSession({ home, roles: 'all', log: () => undefined, findEnvironment: find })
    await session.start(run, loadConfig({ file: 'test/support/whole-pipeline.yaml', set }))
    expect(await session.result(run)).toMatchObject({ phase: 'done', version: updates })
    await session.close()
  }
}, 180_000)

afterAll(() => {
  for (const { home } of [undisturbed, disturbed]) removeHome(home)
})

/** The third session of each instance breaks at its second step, and no attempt can play it up to there again. */
function failing(definition: EnvironmentDefinition): EnvironmentDefinition {
  return {
    ...definition,
    replayable: false,
    replayableBecause: 'a test says so',
    async open(options) {
      const task = await definition.open(options)
      const sessions = new Map<string, number>()
      return {
        ...task,
        create: async () =>
          breaking(await task.create(), (instance) => {
            const ordinal = (sessions.get(instance) ?? 0) + 1
            sessions.set(instance, ordinal)
            return ordinal === 3 // the first one plays the demonstration
          }),
      }
    },
  }
}

function breaking(environment: Environment, breaks: (instance: string) => boolean): Environment {
  let isBreaking = false
  let steps = 0
  return {
    get tools() {
      return environment.tools
    },
    reset(instance) {
      isBreaking = breaks(instance)
      return environment.reset(instance)
    },
    async step(action) {
      steps += 1
      if (isBreaking && steps === 2) throw new EnvironmentFault('backend', 'the machine does not answer')
      return environment.step(action)
    },
    close: () => environment.close(),
  }
}

it('episodes of the disturbed run failed, and new attempts took their places in its updates', async () => {
  const { home, run } = disturbed
  await using store = await openStore(homeAt(home).storeFile)
  const episodes = await store.episodes.page(run, '', 1000)
  const failed = episodes.filter(
    ({ id, seal }) => seal.outcome === 'infrastructure_error' && !yieldsToTraining(id),
  )
  expect(failed.length).toBeGreaterThan(0)
  for (const { seal } of failed) expect(seal.turns).toBeGreaterThan(0)
  const groups = await store.groups.list(run, { consumed: true })
  const learnt = groups.flatMap(({ result }) => result?.episodes ?? [])
  expect(learnt.filter((id) => parseEpisodeId(id).attempt === 1)).toHaveLength(failed.length)
})

// [EPISODE-3]
it.each(Array.from({ length: updates + 1 }, (_, version) => version))(
  'two runs of one seed and two names with η = 0, one with infrastructure failures, have the same weights and moments in version %i',
  (version) => {
    const [one, other] = [undisturbed, disturbed].map(({ home, run }) => {
      const manifest = join(homeAt(home).run(run).checkpointDir(version), manifestFile)
      const { files } = JSON.parse(readFileSync(manifest, 'utf8'))
      return [files['model.safetensors'].sha256, files['optimizer.safetensors'].sha256]
    })
    expect(one).toEqual(other)
  },
)

it('their metrics have the same lines except for times', () => {
  const [one, other] = [undisturbed, disturbed].map(
    ({ home, run }) =>
      readMetrics(homeAt(home).run(run).metricsFile)
        .map((line) => JSON.stringify({ ...line, time: '', seconds: {} }))
        .sort(), // an evaluation is entered when it ends, whichever update is done by then
  )
  expect(one).toHaveLength(updates + 2) // evaluated before and after
  expect(one).toEqual(other)
})
