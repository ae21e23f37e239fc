/**
 * Experiment: the runs of all arms and seeds, each a training run of its own, so many at a time.
 *
 * Invariants
 * - [EXPERIMENT-1] Every run of the plan is begun once, under its identity, however often the experiment is started or
 *   continues as new; what the store has of it counts.
 * - [EXPERIMENT-2] At most `parallel` runs are in progress, continued ones included. When `parallel` falls, runs in progress go on;
 *   a run that was resumed from outside may exceed it too.
 * - [EXPERIMENT-3] One of the runs with the same warm start makes it; the others begin once it can be found.
 * - A run that fails or is stopped ends itself alone. When the experiment is continued it waits for its turn, and goes on from what
 *   the store has of it.
 * - Runs outlive the experiment: one that is cancelled leaves them as they are.
 */
import {
  allHandlersFinished,
  condition,
  isCancellation,
  log,
  makeContinueAsNewFunc,
  ParentClosePolicy,
  setCurrentDetails,
  setHandler,
  startChild,
  workflowInfo,
} from '@temporalio/workflow'
import type { BegunRun } from '../activities/experiments.ts'
import {
  continueExperiment,
  type ExperimentPlan,
  type ExperimentRun,
  type ExperimentRunEnding,
} from '../contract/messages.ts'
import { initialState, type TrainingState } from '../contract/training-state.ts'
import type { RunId } from '../identity/identity.ts'
import { startOnce } from './calls/child-watch.ts'
import { experimentActivities } from './calls/dispatch.ts'
import { reasonOf } from './calls/failure-reason.ts'
import { dashboardLink, table, workflowLink } from './page/links.ts'
import { here, idHere } from './page/place.ts'
import { trainingRun } from './run/training-run.ts'
import { trainingStart } from './run/training-start.ts'
import { stateToResumeFrom, storedState } from './state/run-state.ts'

/** State of the runs of an experiment. */
interface Course {
  readonly plan: ExperimentPlan
  parallel: number
  readonly waiting: ExperimentRun[]
  readonly active: Map<RunId, ExperimentRun>
  /** Runs whose warm start is not there yet. */
  readonly warming: Map<RunId, number>
  readonly ended: Map<RunId, ExperimentRunEnding['status']>
  /** Runs that go on when their turn comes, though they may have ended. */
  readonly again: Set<RunId>
}

/** Does the runs of an experiment. @returns how each of them ended, in the order of the plan */
export async function experiment(plan: ExperimentPlan): Promise<readonly ExperimentRunEnding[]> {
  const course: Course = {
    plan,
    parallel: plan.parallel,
    waiting: [],
    active: new Map(),
    warming: new Map(),
    ended: new Map(),
    again: new Set(plan.again),
  }
  setHandler(continueExperiment, ({ parallel }) => {
    course.parallel = parallel
    queueAgain(course)
  })
  const { experiment: name } = plan
  await experimentActivities.recordExperiment({ experiment: name, hasEnded: false })
  await acceptKnown(course)
  const isOver = () => course.active.size === 0 && course.waiting.length === 0
  while (!isOver()) {
    showDetails(course)
    for (let next = nextOf(course); next !== undefined; next = nextOf(course)) start(course, next)
    await condition(() => isOver() || nextOf(course) !== undefined || workflowInfo().continueAsNewSuggested)
    if (workflowInfo().continueAsNewSuggested) await continueInNewExecution(course)
  }
  showDetails(course)
  await experimentActivities.recordExperiment({ experiment: name, hasEnded: true })
  // A continuation that came meanwhile is not lost: the next execution receives it.
  if (!isOver()) await continueInNewExecution(course)
  return plan.runs.map(({ run }) => ({ run, status: course.ended.get(run) ?? 'lost' }))
}

/** Sorts the runs by their status in the store: runs in progress are watched first, ended ones are left or go on. */
async function acceptKnown(course: Course): Promise<void> {
  const { runs } = course.plan
  const { known } = await experimentActivities.findRuns({ runs: runs.map(({ run }) => run) })
  for (const each of runs) {
    const status = known[each.run]
    if (status === undefined || status === 'done') course.again.delete(each.run)
    if (status === 'running') start(course, each)
    else if (status === undefined || course.again.has(each.run)) course.waiting.push(each)
    else course.ended.set(each.run, status)
  }
}

/** Queues the runs that ended without being done. Runs whose status the store has not given yet are queued when it has. */
function queueAgain({ plan, active, ended, waiting, again }: Course): void {
  for (const each of plan.runs) {
    const { run } = each
    const status = ended.get(run)
    if (active.has(run) || waiting.includes(each) || status === 'done') continue
    again.add(run)
    if (ended.delete(run)) waiting.push(each)
  }
}

/** The next run that may begin; undefined while none may. */
function nextOf({ active, parallel, waiting, warming }: Course): ExperimentRun | undefined {
  if (active.size >= parallel) return undefined
  const beingMade = new Set(warming.values())
  return waiting.find(({ warmStart }) => !beingMade.has(warmStart))
}

function start(course: Course, run: ExperimentRun): void {
  const at = course.waiting.indexOf(run)
  if (at >= 0) course.waiting.splice(at, 1)
  course.active.set(run.run, run)
  course.warming.set(run.run, run.warmStart)
  // Not awaited: the other runs go on beside it, and `train` records its ending.
  void train(course, run)
}

async function train(course: Course, each: ExperimentRun): Promise<void> {
  const { run } = each
  let status: ExperimentRunEnding['status'] = 'lost'
  try {
    status = await endingOfRun(course, each)
  } catch (error) {
    if (isCancellation(error)) return
    log.warn('a run of the experiment could not be done', { run, reason: reasonOf(error) })
  }
  course.warming.delete(run)
  course.active.delete(run)
  course.ended.set(run, status)
  showDetails(course)
}

async function endingOfRun(course: Course, each: ExperimentRun): Promise<ExperimentRunEnding['status']> {
  const { experiment: name } = course.plan
  const { run } = each
  const again = course.again.delete(run) ? { again: { workflowId: idHere(run) } } : {}
  const begun = await experimentActivities.beginRun({ experiment: name, run: each, ...again })
  if (begun.status !== 'running') return begun.status
  const state = firstStateOf(run, begun)
  if (state !== undefined)
    await startOnce(() =>
      startChild(trainingRun, {
        ...trainingStart(state, here()),
        parentClosePolicy: ParentClosePolicy.ABANDON,
      }),
    )
  const [ending] = await Promise.all([awaitEnd(run), awaitWarmStart(course, run)])
  return ending
}

/** The state with which a run's execution begins; undefined where it has an execution. */
function firstStateOf(run: RunId, { config, created, goesOn }: BegunRun): TrainingState | undefined {
  if (goesOn !== undefined) {
    const { course, trail } = goesOn
    return stateToResumeFrom(storedState(course), course.config, trail)
  }
  return config && initialState(run, config, created)
}

async function awaitEnd(run: RunId): Promise<ExperimentRunEnding['status']> {
  for (;;) {
    const { status } = await experimentActivities.awaitRun({ run, workflowId: idHere(run) })
    if (status !== null) return status
  }
}

async function awaitWarmStart(course: Course, run: RunId): Promise<void> {
  for (let isOver = false; !isOver; ) ({ isOver } = await experimentActivities.awaitWarmStart({ run }))
  course.warming.delete(run)
}

/** Continues in a new execution, on the newest build of the workflows. */
async function continueInNewExecution({ plan, parallel, again }: Course): Promise<never> {
  await condition(allHandlersFinished)
  const continueAsNew = makeContinueAsNewFunc<typeof experiment>({
    initialVersioningBehavior: 'AUTO_UPGRADE',
  })
  return continueAsNew({ ...plan, parallel, again: [...again] })
}

/** Writes the details that the Temporal UI shows. */
function showDetails({ plan, active, ended, parallel }: Course): void {
  const place = here()
  const done = [...ended.values()].filter((status) => status === 'done').length
  const rows = plan.runs.map(({ run, arm, seed }) => [
    workflowLink(place, run),
    arm,
    `${seed}`,
    ended.get(run) ?? (active.has(run) ? 'in progress' : 'waiting'),
  ])
  const { dashboardUrl, experiment: name } = plan
  const parts = [
    `**${done} of ${plan.runs.length} runs done** · ${parallel} at a time`,
    table(['run', 'arm', 'seed', 'state'], rows),
    ...(dashboardUrl === undefined ? [] : [`Dashboard: ${dashboardLink(dashboardUrl, 'experiments', name)}`]),
  ]
  setCurrentDetails(parts.join('\n\n'))
}
