/**
 * Checks the tasks of a configuration before anything starts: opens each of them once.
 *
 * Invariants
 * - An environment that begins none of the first instances of a split is refused.
 * - A task, module, split, setting or data folder that cannot be used is named by its key, with what is allowed.
 * - A warm start has an expert to imitate, or there is none.
 * - The checked configuration names the one of alternative splits that the data has.
 * - Where official data is offered for all tasks, one that cannot use it plays its built-in problems, and says so.
 */
import { resolve } from 'node:path'
import { checkPretrained } from '../../activities/warm-start/first-checkpoint.ts'
import { taskWords } from '../../config/files/loader.ts'
import { withSecrets } from '../../config/files/secrets.ts'
import type { RunConfig } from '../../config/schema/schema.ts'
import { type EnvironmentDefinition, EnvironmentFault, type Task } from '../../envs/contract/environment.ts'
import { AskedModelFault } from '../../envs/contract/question.ts'
import { openWatched, saidBy } from '../../envs/contract/watched-task.ts'
import { loadEnvironment } from '../../envs/external/loading.ts'
import { environments } from '../../envs/registry.ts'
import { distillation } from '../../learning/algorithms/losses/distillation.ts'
import { type DeclaredMetrics, measureNames, measureOf } from '../../learning/evaluation/measure.ts'
import { instanceOrder } from '../../learning/rollout/instance-order.ts'
import { ExternalFault } from '../../machine/modules/external-module.ts'
import { AddressFault, isRemoteAddress } from '../../machine/network/remote-address.ts'
import { verifyCheckpoint } from '../../policy/checkpoints/checkpoint.ts'
import { outlinePretrained } from '../../policy/checkpoints/pretrained.ts'
import { CheckpointFault } from '../../policy/files/checkpoint-fault.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { checkAgent } from './agent-check.ts'
import { checkAskedModels } from './asked-models-check.ts'
import { partialRewardNotices } from './partial-rewards.ts'
import { badValue, checkEngine, checkLearning, checkServers, checkTrackers } from './start-check.ts'

type TaskConfig = RunConfig['tasks'][number]

/** A configuration whose tasks can be played. */
export interface CheckedTasks {
  readonly config: RunConfig
  /** Turns of an episode by task, as the tasks themselves limit them. */
  readonly turnLimits: ReadonlyMap<string, number>
  /** Whether each task of the configuration has an expert, in its order. */
  readonly experts: readonly boolean[]
  /** Messages for the person before the run starts. */
  readonly notices: readonly string[]
}

/** Circumstances of the check beside the configuration. */
export interface TaskSurroundings {
  /** Where what the tasks keep lies. */
  readonly home: string
  /** Environments that the program itself brings. */
  readonly own?: readonly EnvironmentDefinition[] | undefined
  /** Folder with the official data of Perdure's own tasks, each in a folder of its name. */
  readonly officialData?: string | undefined
  /** False leaves out what official data needs set up on this machine, and whether it can be. */
  readonly setUp?: boolean
  /** Receives a sentence about each step that takes unusually long. */
  readonly report?: ((sentence: string) => void) | undefined
}

/**
 * Opens each task once, and looks for the splits that are asked of it.
 * @throws ConfigFault
 */
export async function checkTasks(config: RunConfig, surroundings: TaskSurroundings): Promise<CheckedTasks> {
  const { home, own = [], officialData, setUp = true, report } = surroundings
  const folder = homeAt(home).environmentsDir
  const turnLimits = new Map<string, number>()
  const notices: string[] = []
  const experts: boolean[] = []
  let checked = config
  for (const [index, given] of config.tasks.entries()) {
    const definition = await definitionOf(index, given, [...own, ...environments])
    turnLimits.set(definition.name, definition.turnLimit)
    checkAgent(index, given, definition)
    checkAskedModels(index, given, definition)
    const task =
      officialData === undefined || given.from !== undefined
        ? given
        : await withOfficialData(
            given,
            definition,
            { dataDir: resolve(officialData, given.task), folder, setUp },
            notices,
          )
    const opened = await openTask(index, task, definition, { folder, report })
    try {
      if (setUp) await prepare(index, task, opened)
      for (const warning of opened.warnings ?? []) notices.push(`${task.task}: ${warning}`)
      checked = withMetrics(withSplits(checked, index, task, opened.splits), index, definition)
      // Without the setting-up a session could not be had.
      if (setUp || opened.prepare === undefined) await checkReset(checked, index, opened, notices)
      // Those of Perdure pay at the end alone.
      if (setUp && !environments.includes(definition))
        notices.push(...(await rewardNotices(checked, index, opened)))
      experts.push(opened.demonstrate !== undefined)
    } finally {
      await opened.close()
    }
  }
  return { config: checked, turnLimits, notices, experts }
}

/**
 * Checks before a run starts: its tasks can be played, its policy can be read, its engine and its trainer are suitable, and an
 * expert where it imitates one.
 * @throws ConfigFault
 */
export async function checkRun(config: RunConfig, surroundings: TaskSurroundings): Promise<CheckedTasks> {
  await checkModel(config)
  await checkTeacher(config)
  const checked = await checkTasks(config, surroundings)
  await checkMeans(checked.config)
  const notices = [...checked.notices]
  return { ...checked, config: withExperts(checked.config, checked.experts, notices), notices }
}

/** Whether what samples, what trains, what judges and what tracks can be used. @throws ConfigFault */
export async function checkMeans(config: RunConfig): Promise<void> {
  await checkEngine(config)
  await checkServers(config)
  await checkLearning(config)
  checkTrackers(config)
}

/** Whether the run can start from the folder that it names. */
async function checkModel({ policy: { from, contextLength } }: RunConfig): Promise<void> {
  if (from === undefined) return
  try {
    await checkPretrained(from, contextLength)
  } catch (cause) {
    if (!(cause instanceof CheckpointFault)) throw cause
    throw badValue('policy.from', from, `the folder of a checkpoint: ${cause.message}`, cause)
  }
}

/** Whether the run has the teacher that it needs, and both name tokens alike. */
async function checkTeacher({ learning: { algorithm, teacher }, tasks, policy }: RunConfig): Promise<void> {
  const isTaught = [algorithm, ...tasks.map(({ objective }) => objective)].includes(distillation.name)
  if (teacher === undefined) {
    if (isTaught)
      throw badValue(
        'learning.teacher',
        'missing',
        'the folder of a checkpoint, which `distillation` learns from',
      )
    return
  }
  if (policy.from === undefined)
    throw badValue(
      'learning.teacher',
      teacher,
      'none without `policy.from`: a new policy has a tokenizer of its own',
    )
  try {
    await verifyCheckpoint(teacher)
    const [own, other] = [await outlinePretrained(policy.from), await outlinePretrained(teacher)]
    if (own.tokenizer === other.tokenizer) return
  } catch (cause) {
    if (!(cause instanceof CheckpointFault)) throw cause
    throw badValue(
      'learning.teacher',
      teacher,
      `the folder of a checkpoint of a run: ${cause.message}`,
      cause,
    )
  }
  throw badValue(
    'learning.teacher',
    teacher,
    `a checkpoint with the tokenizer of policy.from (${policy.from})`,
  )
}

/** The configuration with a warm start that can be: demonstrations come from tasks that have an expert. */
function withExperts(config: RunConfig, experts: readonly boolean[], notices: string[]): RunConfig {
  const { tasks, warmStart, policy } = config
  if (warmStart.demonstrations === 0) return config
  const trained = tasks.filter(({ weight }) => weight > 0)
  const without = tasks.filter(({ weight }, index) => weight > 0 && experts[index] === false)
  const names = without.map(({ task }) => task).join(', ')
  if (without.length < trained.length) {
    if (without.length > 0)
      notices.push(`${names}: no expert, so the demonstrations come from the other tasks alone`)
    return config
  }
  if (policy.from === undefined)
    throw badValue(
      'warmStart.demonstrations',
      warmStart.demonstrations,
      `0, because ${names} has no expert whose play could be imitated: give it one (\`expert\` of its definition), start from a checkpoint (\`policy.from\`), or leave the warm start out (\`warmStart.demonstrations: 0\`)`,
    )
  notices.push(`${names}: no expert, so the run starts from ${policy.from} without a warm start`)
  return { ...config, warmStart: { ...warmStart, demonstrations: 0 } }
}

/** The task with its official data, or as it is where that cannot be played here. */
async function withOfficialData(
  task: TaskConfig,
  definition: EnvironmentDefinition,
  { dataDir, folder, setUp }: { readonly dataDir: string; readonly folder: string; readonly setUp: boolean },
  notices: string[],
): Promise<TaskConfig> {
  try {
    const settings = withSecrets(task.settings, `${task.task}.settings`)
    const opened = await openWatched(definition, { dataDir, settings, folder })
    try {
      if (setUp) await opened.prepare?.()
    } finally {
      await opened.close()
    }
    return { ...task, data: dataDir }
  } catch (cause) {
    if (!(cause instanceof EnvironmentFault)) throw cause
    notices.push(`${task.task} plays its built-in problems: ${cause.message}`)
    return task
  }
}

async function definitionOf(
  index: number,
  { task, from, settings }: TaskConfig,
  known: readonly EnvironmentDefinition[],
): Promise<EnvironmentDefinition> {
  if (from === undefined) {
    const definition = known.find(({ name }) => name === task)
    if (definition !== undefined) return definition
    const names = known.map(({ name }) => name)
    throw badValue(`tasks.${index}.task`, task, taskWords(index, task, names))
  }
  try {
    const fill = (part: string) => withSecrets(part, `tasks.${index}.from`)
    return await loadEnvironment(from, task, { settings, fill })
  } catch (cause) {
    if (cause instanceof AddressFault)
      throw badValue(`tasks.${index}.from`, from, `the address of a server: ${cause.message}`, cause)
    if (!(cause instanceof ExternalFault)) throw cause
    if (cause.kind === 'unknown_environment' || cause.kind === 'name_taken')
      throw badValue(`tasks.${index}.task`, task, `the name of an environment: ${cause.message}`, cause)
    throw badValue(`tasks.${index}.from`, from, `a module with an environment: ${cause.message}`, cause)
  }
}

function withSplits(
  config: RunConfig,
  index: number,
  task: TaskConfig,
  splits: readonly { readonly name: string }[],
): RunConfig {
  const names = splits.map(({ name }) => name)
  const chosen = (key: string, wanted: string): string => {
    const split = wanted.split('|').find((each) => names.includes(each.trim()))
    if (split === undefined) throw badValue(key, wanted, `a split of ${task.task}: ${names.join(', ')}`)
    return split.trim()
  }
  const split = task.weight === 0 ? task.split : chosen(`tasks.${index}.split`, task.split)
  const suites = config.evaluation.suites.map((suite, at) =>
    suite.task === task.task
      ? { ...suite, split: chosen(`evaluation.suites.${at}.split`, suite.split) }
      : suite,
  )
  const tasks = config.tasks.with(index, { ...task, split })
  return { ...config, tasks, evaluation: { ...config.evaluation, suites } }
}

/** The configuration with the metrics that the environment declares. @throws ConfigFault a suite that measures another one */
function withMetrics(
  config: RunConfig,
  index: number,
  { name, metrics = {} }: EnvironmentDefinition,
): RunConfig {
  const { tasks, evaluation } = config
  for (const [at, { task, measure }] of evaluation.suites.entries()) {
    if (task !== tasks[index]?.task || measureOf(measure.of, metrics) !== undefined) continue
    throw badValue(`evaluation.suites.${at}.measure.of`, measure.of, measuresOf(name, metrics))
  }
  return { ...config, tasks: tasks.map((task, at) => (at === index ? { ...task, metrics } : task)) }
}

/** The measures of a task, in words. */
export function measuresOf(task: string, metrics: DeclaredMetrics): string {
  const own = Object.keys(metrics).join(', ')
  return `${measureNames.join(', ')}, or a metric that ${task} declares: ${own || 'it declares none'}`
}

/** Sets up what the task needs on this machine, or says why that cannot be. */
async function prepare(index: number, { task }: TaskConfig, opened: Task): Promise<void> {
  try {
    await opened.prepare?.()
  } catch (cause) {
    if (!(cause instanceof EnvironmentFault)) throw cause
    throw badValue(`tasks.${index}.task`, task, `a task that can be set up here: ${cause.message}`, cause)
  }
}

/** Says that rewards get lost, where a task pays some that an episode does not keep which hits a limit. */
async function rewardNotices(
  { tasks, learning }: RunConfig,
  index: number,
  opened: Task,
): Promise<readonly string[]> {
  const task = tasks[index]
  const split = opened.splits.find(({ name }) => name === task?.split)
  if (task === undefined || split === undefined || task.notCompleted !== 'penalty') return []
  const names = { task: task.task, key: `tasks.${index}.notCompleted` }
  return await partialRewardNotices(opened, split, { ...names, penalty: learning.notCompletedPenalty })
}

/** Instances of a split that are tried: one that fails while others do not is left out by the run. */
const resetTries = 3

/** Begins an instance of each split that the task is played on. */
async function checkReset(
  { tasks, evaluation: { suites } }: RunConfig,
  index: number,
  opened: Task,
  notices: string[],
): Promise<void> {
  const task = tasks[index]
  if (task === undefined) return
  const ofSuites = suites.filter((suite) => suite.task === task.task).map(({ split }) => split)
  const splits = new Set([...(task.weight > 0 ? [task.split] : []), ...ofSuites])
  for (const { name, size } of opened.splits.filter((split) => splits.has(split.name)))
    for (let position = 0; position < resetTries; position++) {
      const fault = await resetFault(opened, name, instanceOrder(size, position))
      if (fault === undefined) break
      if (position + 1 < resetTries && fault.kind !== 'no_answer') notices.push(fault.message)
      else {
        const key = task.from === undefined ? 'task' : 'from'
        const allowed = `an environment whose instances can be begun: ${fault.message}`
        throw badValue(`tasks.${index}.${key}`, task.from ?? task.task, allowed, fault)
      }
    }
}

/** The reason why an instance cannot be reset. */
async function resetFault(opened: Task, split: string, index: number): Promise<EnvironmentFault | undefined> {
  try {
    const session = await opened.create()
    try {
      await session.reset(opened.instanceAt(split, index))
    } finally {
      await session.close()
    }
    return undefined
  } catch (fault) {
    if (!(fault instanceof EnvironmentFault)) throw fault
    // Its first words are a model's, and none is asked before the run.
    return fault.cause instanceof AskedModelFault ? undefined : fault
  }
}

async function openTask(
  index: number,
  task: TaskConfig,
  definition: EnvironmentDefinition,
  { folder, report }: { readonly folder: string; readonly report: TaskSurroundings['report'] },
): Promise<Task> {
  try {
    const settings = withSecrets(task.settings, `tasks.${index}.settings`)
    return await openWatched(definition, { dataDir: task.data, settings, folder }, saidBy(report))
  } catch (cause) {
    if (!(cause instanceof EnvironmentFault)) throw cause
    if (cause.kind === 'not_installed')
      throw badValue(`tasks.${index}.task`, task.task, `a task that is installed: ${cause.message}`, cause)
    const { from } = task
    if (from !== undefined && cause.cause instanceof AddressFault)
      throw badValue(`tasks.${index}.from`, from, `the address of a server: ${cause.message}`, cause)
    const isOfServer = from !== undefined && isRemoteAddress(from) && cause.kind !== 'bad_settings'
    if (isOfServer || cause.kind === 'failed' || cause.kind === 'no_answer')
      throw badValue(
        `tasks.${index}.${task.from === undefined ? 'task' : 'from'}`,
        task.from ?? task.task,
        `an environment that opens: ${cause.message}`,
        cause,
      )
    if (cause.kind === 'bad_settings')
      throw badValue(
        `tasks.${index}.settings`,
        task.settings,
        `what ${task.task} takes: ${cause.message}`,
        cause,
      )
    throw badValue(
      `tasks.${index}.data`,
      task.data ?? '',
      `a folder with the official data of ${task.task}: ${cause.message}`,
      cause,
    )
  }
}
