/**
 * From an experiment's file to a statement: read, checked, and compared with the experiment that began under its name.
 *
 * Invariants
 * - A file that equals, to the byte, the one that the experiment began with is not checked again: the stored statement is used.
 * - Arms are checked as runs are, so that splits and experts are known before anything starts.
 */
import { type ExperimentStatement, loadExperiment } from '../../config/files/experiment.ts'
import { withoutHome } from '../../config/files/home-paths.ts'
import type { RunConfig } from '../../config/schema/schema.ts'
import { measureOf } from '../../learning/evaluation/measure.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { hasStore } from '../../storage/place.ts'
import { openStore } from '../../storage/store.ts'
import { badValue } from '../checks/start-check.ts'
import { checkRun, measuresOf } from '../checks/task-check.ts'
import { isSameFile, type KnownExperiment, refuseChanged, storedExperiment } from './experiments.ts'

/** An experiment that can be begun or continued. */
export interface StatedExperiment {
  readonly statement: ExperimentStatement
  /** The experiment that began under its name before. */
  readonly known: KnownExperiment | undefined
  /** Messages for the person before the runs start. */
  readonly notices: readonly string[]
}

/**
 * @param options.tasks names of the tasks that need no `from`
 * @throws ConfigFault; SessionFault `experiment_changed`
 */
export async function stateExperiment(
  file: string,
  options: {
    readonly home: string
    readonly tasks: readonly string[]
    readonly officialData?: string | undefined
  },
): Promise<StatedExperiment> {
  const { statement, notices } = loadExperiment(file, options.tasks)
  const known = await findExperiment(options.home, statement.name)
  if (known !== undefined && isSameFile(known.statement, statement))
    return { statement: known.statement, known, notices }
  const checked = await checkArms(statement, options)
  const stated = { ...checked, notices: [...notices, ...checked.notices] }
  if (known === undefined) return { ...stated, known }
  refuseChanged(known, checked.statement)
  const others = 'the file has changed since the experiment began, but states the same'
  return { statement: known.statement, known, notices: [...stated.notices, others] }
}

/** An experiment of a home, which may have no store. */
export async function findExperiment(directory: string, name: string): Promise<KnownExperiment | undefined> {
  const home = homeAt(directory)
  if (!(await hasStore(home.storeFile))) return undefined
  await using store = await openStore(home.storeFile, { create: false, access: 'read' })
  return await storedExperiment(store, name)
}

async function checkArms(
  statement: ExperimentStatement,
  { home, officialData }: { readonly home: string; readonly officialData?: string | undefined },
): Promise<Pick<StatedExperiment, 'statement' | 'notices'>> {
  const notices = new Set<string>()
  const { dir } = homeAt(home)
  // Arms mostly have the same tasks, which take time to open.
  const checked = new Map<string, Pick<RunConfig, 'tasks' | 'evaluation' | 'warmStart'>>()
  const arms: ExperimentStatement['arms'][number][] = []
  for (const arm of statement.arms) {
    const { tasks, evaluation, warmStart, policy } = arm.config
    const key = JSON.stringify([tasks, evaluation, warmStart, policy.from])
    let found = checked.get(key)
    if (found === undefined) {
      const { config, notices: own } = await checkRun(arm.config, { home, officialData })
      requireMeasure(statement, config)
      for (const notice of own) notices.add(notice)
      found = { tasks: config.tasks, evaluation: config.evaluation, warmStart: config.warmStart }
      checked.set(key, found)
    }
    arms.push({ ...arm, config: withoutHome({ ...arm.config, ...found }, dir) })
  }
  return { statement: { ...statement, arms }, notices: [...notices] }
}

/** @throws ConfigFault a measure that a task of a measured suite does not have */
function requireMeasure(
  { measure = 'success', suites }: ExperimentStatement,
  { tasks, evaluation }: RunConfig,
): void {
  const measured = evaluation.suites.filter(({ name }) => suites.includes(name))
  for (const { task, metrics } of tasks.filter((each) => measured.some((suite) => suite.task === each.task)))
    if (measureOf(measure, metrics) === undefined)
      throw badValue('measure.of', measure, measuresOf(task, metrics))
}
