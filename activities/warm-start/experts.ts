/**
 * The expert on a run's suites: its success on the instances on which the policy is measured.
 *
 * Invariants
 * - [EXPERTS-1] It wins an instance where its demonstration ends within the turns that the policy has.
 * - It is measured without the settings of demonstrations: they may make the demonstrator weaker.
 * - An instance on which the expert fails is left out, and not counted as lost.
 * - A suite of many instances is measured on the first of them.
 */
import { setImmediate } from 'node:timers/promises'
import type { RunConfig } from '../../config/schema/schema.ts'
import { type Demonstration, EnvironmentFault } from '../../envs/contract/environment.ts'
import { earnsAtLeast, rewardRules } from '../../learning/evaluation/reward.ts'
import { instanceOrder } from '../../learning/rollout/instance-order.ts'
import type { Experts, StoredExpert } from '../../storage/records/experts.ts'
import type { OpenRun } from '../stored/open-runs.ts'
import { createLeftOut, type LeftOut } from './left-out.ts'

/** Enough for an interval of six points; the slowest expert needs some tens of milliseconds for an instance. */
const mostInstances = 300

/**
 * Measures the experts of all suites that have one and have no figure yet.
 * @param onProgress called after each instance
 * @param signal ends it between two instances
 */
export async function measureExperts(
  opened: Pick<OpenRun, 'run' | 'config' | 'task'>,
  experts: Experts,
  { onProgress, signal, report }: Measuring,
): Promise<void> {
  const known = new Set((await experts.list(opened.run)).map(({ suite }) => suite))
  const suites = opened.config.evaluation.suites.filter(({ name }) => !known.has(name))
  const total = suites.reduce((sum, suite) => sum + instancesOf(suite), 0)
  let done = 0
  for (const suite of suites) {
    const onInstance = () => onProgress(++done, total)
    const leftOut = createLeftOut(`the expert's figure on ${suite.name}`, report)
    const found = await expertOn(opened, suite, { onInstance, signal, leftOut }).catch((fault: unknown) => {
      // A run can train without this figure.
      if (!(fault instanceof EnvironmentFault) || fault.kind !== 'none_playable') throw fault
      report?.(fault.message, leftOut.count)
    })
    if (found) await experts.insert(opened.run, found)
  }
}

interface Measuring {
  readonly onProgress: Progress
  readonly signal: AbortSignal
  /** Reports instances that fail. */
  readonly report?: Parameters<typeof createLeftOut>[1]
}

type Progress = (done: number, total: number) => void
type Suite = RunConfig['evaluation']['suites'][number]

function instancesOf({ episodes }: Suite): number {
  return Math.min(episodes, mostInstances)
}

/** @returns undefined where the task has no expert */
async function expertOn(
  { config, task }: Pick<OpenRun, 'config' | 'task'>,
  suite: Suite,
  {
    onInstance,
    signal,
    leftOut,
  }: { readonly onInstance: () => void; readonly signal: AbortSignal; readonly leftOut: LeftOut },
): Promise<StoredExpert | undefined> {
  const index = config.tasks.findIndex((entry) => entry.task === suite.task)
  const opened = await task(index)
  const split = opened.task.splits.find(({ name }) => name === suite.split)
  if (opened.task.demonstrate === undefined || split === undefined) return undefined
  const turnLimit = config.tasks[index]?.turnLimit ?? opened.definition.turnLimit
  const n = instancesOf(suite)
  const { atLeast } = rewardRules(config, suite.task)
  const wins = (played: Demonstration) => played.actions.length <= turnLimit && earnsAtLeast(played, atLeast)
  let won = 0
  for (let position = 0; position < n; position++) {
    signal.throwIfAborted()
    const instance = opened.task.instanceAt(split.name, instanceOrder(split.size, position))
    const played = await leftOut.playing(async () => opened.task.demonstrate?.(instance))
    if (played?.result !== undefined && wins(played.result)) won += 1
    onInstance()
    await setImmediate() // heartbeats between two
  }
  const measured = n - leftOut.count
  return measured === 0 ? undefined : { suite: suite.name, success: won / measured, n: measured }
}
