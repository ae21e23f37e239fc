import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { freshArchitecture } from '../../activities/warm-start/first-checkpoint.ts'
import { ConfigFault } from '../../config/files/fault.ts'
import { resolveConfig } from '../../config/files/loader.ts'
import { type EnvironmentDefinition, EnvironmentFault, type Task } from '../../envs/contract/environment.ts'
import { defineEnvironment } from '../../envs/external/define.ts'
import { compactAddedTokens } from '../../policy/templates/compact-template.ts'
import { trainTokenizer } from '../../policy/tokenizer/byte-pair-training.ts'
import { Tokenizer } from '../../policy/tokenizer/tokenizer.ts'
import { initializeCheckpoint } from '../../policy/trainer/initial-checkpoint.ts'
import { writePublishedModel } from '../../test/peers/published-model.ts'
import { createEchoTask } from '../../test/support/echo-task.ts'
import { createJudgedTask } from '../../test/support/judged-task.ts'
import { checkRun, checkTasks } from './task-check.ts'

const home = mkdtempSync(join(tmpdir(), 'perdure-tasks-'))
afterAll(() => rmSync(home, { recursive: true, force: true }))

const { definition } = createEchoTask({ name: 'echo' })
const { definition: played } = createEchoTask({ name: 'played' })

function withPrepare(prepare: NonNullable<Task['prepare']>): EnvironmentDefinition {
  return { ...definition, open: async (options) => ({ ...(await definition.open(options)), prepare }) }
}

const config = resolveConfig({
  tasks: [{ task: 'played' }, { task: 'echo', weight: 0, split: 'nowhere' }],
  evaluation: { suites: [{ task: 'played', split: 'train' }] },
})

it('a task that is only evaluated on needs no training split', async () => {
  const checked = await checkTasks(config, { home, own: [definition, played] })
  expect(checked.config.tasks[1]?.split).toBe('nowhere')
  const trained = { ...config, tasks: config.tasks.map((task) => ({ ...task, weight: 1 })) }
  await expect(checkTasks(trained, { home, own: [definition, played] })).rejects.toThrow('a split of echo')
})

it('a task that cannot be set up here is named by its key before anything starts', async () => {
  const broken = withPrepare(async () => {
    throw new EnvironmentFault('backend', 'install Python 3.10 or newer')
  })
  await expect(checkTasks(config, { home, own: [broken, played] })).rejects.toThrow(
    /`tasks\.1\.task` is "echo": expected .*install Python/,
  )
  await checkTasks(config, { home, own: [broken, played], setUp: false })
})

it('a task that pays before its episodes end says what an episode loses at a limit, unless it keeps it', async () => {
  const steps: EnvironmentDefinition = defineEnvironment('steps', {
    start: () => ({ prompt: 'Walk.', walked: 0 }),
    tools: (tool) => ({
      walk: tool({
        description: 'Walks on.',
        parameters: z.object({}),
        run: (_, state) => {
          state.walked += 1
          return { reply: 'on', reward: 0.25, done: state.walked === 4 }
        },
      }),
    }),
    *expert() {
      for (;;) yield { walk: {} }
    },
  })
  const walking = { tasks: [{ task: 'steps' }], evaluation: { suites: [{ task: 'steps' }] } }
  const { notices } = await checkTasks(resolveConfig(walking), { home, own: [steps] })
  expect(notices).toEqual([
    'steps: rewards are paid before an episode ends; one that hits a limit loses them and earns -0.2, unless `tasks.0.notCompleted` is `keep` or `add`',
  ])
  const keeping = resolveConfig({ ...walking, tasks: [{ task: 'steps', notCompleted: 'keep' }] })
  expect((await checkTasks(keeping, { home, own: [steps] })).notices).toEqual([])
})

describe('a warm start', () => {
  const own = [definition, played]
  const expert: EnvironmentDefinition = {
    ...definition,
    open: async (options) => ({ ...(await definition.open(options)), demonstrate: async () => undefined }),
  }
  const fresh = resolveConfig({
    tasks: [{ task: 'played' }],
    evaluation: { suites: [{ task: 'played', split: 'train' }] },
  })

  it('that has no expert to imitate is refused before anything starts, with the three ways out', async () => {
    const refusal = checkRun(fresh, { home, own, setUp: false })
    await expect(refusal).rejects.toBeInstanceOf(ConfigFault)
    for (const way of [/`expert` of its definition/, /`policy\.from`/, /`warmStart\.demonstrations: 0`/])
      await expect(refusal).rejects.toThrow(way)
    await expect(refusal).rejects.toThrow(/^`warmStart\.demonstrations` is 600: .* played has no expert/)
  })

  it('is left out where the policy is given or none is asked for', async () => {
    const none = { ...fresh, warmStart: { ...fresh.warmStart, demonstrations: 0 } }
    expect((await checkRun(none, { home, own })).config).toEqual(none)
    const from = await writePublishedModel(join(home, 'model'))
    const given = { ...fresh, policy: { ...fresh.policy, from } }
    const { config: checked, notices } = await checkRun(given, { home, own })
    expect(checked.warmStart.demonstrations).toBe(0)
    expect(notices.join()).toContain('without a warm start')
  })

  it('takes its demonstrations from the tasks that have an expert, and says so', async () => {
    const mixed = { ...config, tasks: config.tasks.map((task) => ({ ...task, weight: 1, split: 'train' })) }
    const { config: checked, notices } = await checkRun(mixed, { home, own: [expert, played] })
    expect(checked.warmStart.demonstrations).toBe(600)
    expect(notices).toEqual(['played: no expert, so the demonstrations come from the other tasks alone'])
  })
})

it('a suite is measured by a metric that its task declares, and the configuration of the run has how it is read', async () => {
  const score = { better: 'higher', unit: 'points' } as const
  const own = [{ ...definition, metrics: { score } }, played]
  const measuredBy = (task: string, of: string) =>
    resolveConfig({
      tasks: [{ task: 'played' }, { task: 'echo' }],
      evaluation: { suites: [{ task, measure: { of } }] },
    })
  const { config } = await checkTasks(measuredBy('echo', 'score'), { home, own })
  expect(config.tasks.map(({ metrics }) => metrics)).toEqual([{}, { score }])
  await expect(checkTasks(measuredBy('echo', 'points'), { home, own })).rejects.toThrow(
    '`evaluation.suites.0.measure.of` is "points": expected success, reward, turns, tokens, or a metric that echo declares: score',
  )
  await expect(checkTasks(measuredBy('played', 'score'), { home, own })).rejects.toThrow('it declares none')
})

it('a teacher is a checkpoint of a run with the tokenizer that the policy starts with, and distillation needs one', async () => {
  const taught = resolveConfig({
    tasks: [{ task: 'played' }],
    learning: { algorithm: 'distillation' },
    policy: { contextLength: 64 },
    warmStart: { demonstrations: 0 },
    evaluation: { suites: [] },
  })
  const [start, other] = await Promise.all(
    ['start', 'other'].map(async (name) => {
      const addedTokens = compactAddedTokens([])
      const tokenizer = trainTokenizer([`${name} ${name}`], { vocabularySize: 300, addedTokens })
      const architecture = freshArchitecture(taught.policy, Tokenizer.parse(tokenizer).vocabularySize)
      const dir = join(home, name)
      await initializeCheckpoint(dir, { architecture, tokenizer, chat: 'compact', seed: 1, copies: false })
      return dir
    }),
  )
  const check = (teacher?: string, from?: string) =>
    checkRun(
      { ...taught, learning: { ...taught.learning, teacher }, policy: { ...taught.policy, from } },
      { home, own: [definition, played] },
    )
  await check(start, start)
  await expect(check(undefined, start)).rejects.toThrow('which `distillation` learns from')
  await expect(check(start)).rejects.toThrow('none without `policy.from`')
  await expect(check(other, start)).rejects.toThrow('a checkpoint with the tokenizer of policy.from')
  await expect(check(join(home, 'nowhere'), start)).rejects.toThrow('the folder of a checkpoint of a run')
})

describe('models that an environment asks', () => {
  const own = [createJudgedTask(), played]
  const model = { from: 'http://127.0.0.1:1/v1', model: 'm' }
  const check = async (tasks: readonly object[], task = 'judged') =>
    checkTasks(
      resolveConfig({ tasks: [...tasks] as never, evaluation: { suites: [{ task, split: 'train' }] } }),
      { home, own },
    )

  it('are required by their keys; where they are, a start asks none of them', async () => {
    await expect(check([{ task: 'judged', user: model }])).rejects.toThrow(
      /`tasks\.0\.judge` is "missing": expected a model, because judged asks a judge/,
    )
    await expect(check([{ task: 'judged', judge: model }])).rejects.toThrow(/`tasks\.0\.user`/)
    await check([{ task: 'judged', judge: model, user: {} }])
  })

  it('are refused where the environment asks none', async () => {
    await expect(check([{ task: 'played', judge: model }], 'played')).rejects.toThrow(
      /`tasks\.0\.judge` is .*: expected nothing, because played asks no judge/,
    )
  })

  it('are the policy or at an endpoint: keys of the one are refused beside the other', async () => {
    const judged = (judge: object) => check([{ task: 'judged', user: model, judge }])
    await expect(judged({ from: model.from })).rejects.toThrow(
      /`tasks\.0\.judge\.model`.*the name of a model/,
    )
    await expect(judged({ ...model, version: 3 })).rejects.toThrow(/`tasks\.0\.judge\.version`.*nothing/)
    await expect(judged({ model: 'm' })).rejects.toThrow(/`tasks\.0\.judge\.model`.*nothing/)
    await expect(judged({ ...model, apiKey: 'sk-a-secret' })).rejects.toThrow(/`tasks\.0\.judge\.apiKey`/)
  })
})

describe('an agent', () => {
  const oneTurn = defineEnvironment('one-turn', { turnLimit: 1, start: () => ({ prompt: 'Speak.' }) })
  const checked = (task: string, agent: { readonly command: string[] }) =>
    checkTasks(
      resolveConfig({ tasks: [{ task, agent: { reward: 'file', ...agent } }], evaluation: { suites: [] } }),
      { home, own: [definition, oneTurn] },
    )

  // [AGENT-CHECK-1]
  it('whose program cannot be found, or whose environment has several turns, is refused by its key', async () => {
    await checked('one-turn', { command: [process.execPath, './agent.mjs'] })
    await expect(checked('one-turn', { command: ['no-such-program'] })).rejects.toThrow(
      /^`tasks\.0\.agent\.command` is .*"no-such-program" is none/,
    )
    await expect(checked('echo', { command: [process.execPath] })).rejects.toThrow(
      /^`tasks\.0\.agent` is .*echo steps by itself, over up to 6 turns/,
    )
  })

  it('without a source of its reward is refused by its key', () => {
    const tasks = [{ task: 'one-turn', agent: { command: ['sh'] } }]
    expect(() => resolveConfig({ tasks } as never)).toThrow(/`tasks\.0\.agent\.reward`.*grader, file, post/)
  })
})
