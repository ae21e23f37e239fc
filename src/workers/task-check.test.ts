import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { createEchoTask } from '../../test/echo-task.ts'
import { resolveConfig } from '../config/loader.ts'
import type { EnvironmentDefinition, Task } from '../envs/environment.ts'
import { EnvironmentFault } from '../envs/environment.ts'
import { checkTasks } from './task-check.ts'

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
