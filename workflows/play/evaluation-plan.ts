/**
 * The plan of an evaluation and how it is started, the same whether a run, a person or a schedule asks for it.
 *
 * Invariants
 * - The same checkpoint, suite and number of episodes give the same plan, hence the same identity.
 * - It is started under that identity, and found by its run, task, suite and version.
 * - [EVALUATION-PLAN-1] However many suites a run has, their evaluations of a version play about as many episodes at once.
 */
import type { RunConfig } from '../../config/schema/schema.ts'
import { type EpisodePlan, type EvaluationPlan, searchAttributes } from '../../contract/messages.ts'
import { priorityOf, type Waiting, workflowTaskTimeout } from '../../contract/task-queues.ts'
import { evaluationId, type RunId, workflowIdOf } from '../../identity/identity.ts'
import { isSynchronous } from '../../learning/rollout/admission.ts'
import { evaluationFacts } from '../page/details.ts'
import type { Place } from '../page/links.ts'

/**
 * Episodes that the evaluations of a version play at once, all suites together: enough to fill the engine's batches. With
 * more, workflows wait for one another longer than a worker may hold a workflow task.
 */
const playedAtOnce = 64

/**
 * How long a block of turns takes with local dispatch: long enough that a workflow's overhead is small beside its turns,
 * short enough that its page follows them and that an order reaches it soon.
 */
export const blockMs = 1_000

type Suite = RunConfig['evaluation']['suites'][number]

/** The part of the plan that all episodes of a task share. */
export function episodeRules(
  run: RunId,
  { rollout, orchestration, policy, seed, tasks }: RunConfig,
  taskIndex: number,
): Omit<EpisodePlan, 'episode' | 'split' | 'position' | 'versions' | 'temperature'> {
  return {
    run,
    seed,
    taskIndex,
    task: tasks[taskIndex]?.task ?? '',
    turnLimit: tasks[taskIndex]?.turnLimit ?? null,
    maxTokensPerTurn: rollout.maxTokensPerTurn,
    invalidActionLimit: rollout.invalidActionLimit,
    // A run that is reproducible must not learn from how often its machines failed. In any other run a new attempt draws
    // other actions: the agent's actions may be why the environment hung, and would make it hang again.
    ...(isSynchronous(rollout) ? { attemptsDrawAlike: true } : {}),
    dispatch: orchestration.dispatch,
    ...(orchestration.dispatch === 'local' ? { blockMs } : {}),
    ...agentOf(tasks[taskIndex]),
    answerSeconds: policy.engineTimeoutSeconds + askedSeconds(tasks[taskIndex]),
    ...(orchestration.dashboardUrl ? { dashboardUrl: orchestration.dashboardUrl } : {}),
  }
}

/** The bounds of the program that plays a task's episodes, where one does. */
function agentOf(task: RunConfig['tasks'][number] | undefined): Pick<EpisodePlan, 'agent'> {
  if (task?.agent === undefined) return {}
  const { timeoutSeconds, turnLimit } = task.agent
  return { agent: { timeoutSeconds, turnLimit } }
}

/** Seconds that the tries of a question to each of a task's models may take. */
function askedSeconds(task: RunConfig['tasks'][number] | undefined): number {
  const models = [task?.judge, task?.user].filter((model) => model !== undefined)
  return models.reduce((sum, { tries, timeoutSeconds }) => sum + tries * timeoutSeconds, 0)
}

/** @param asked.suite one of the configuration's; asked.episodes, asked.samples other numbers than the suite's own make another evaluation */
export function evaluationPlan(
  run: RunId,
  config: RunConfig,
  asked: {
    readonly suite: Suite
    readonly version: number
    readonly episodes?: number | undefined
    readonly samples?: number | undefined
  },
): EvaluationPlan {
  const { suite, version } = asked
  const { episodes = suite.episodes, samples = suite.samples } = asked
  const size = samples === suite.samples ? `${episodes}` : `${episodes}x${samples}`
  const name = size === `${suite.episodes}` ? suite.name : `${suite.name}-${size}`
  const taskIndex = config.tasks.findIndex((task) => task.task === suite.task)
  return {
    evaluation: evaluationId(run, name, version, config.seed),
    run,
    suite: name,
    version,
    episodes,
    samples,
    concurrency: Math.ceil(playedAtOnce / config.evaluation.suites.length),
    maxAttempts: config.rollout.maxAttempts,
    episode: {
      ...episodeRules(run, config, Math.max(0, taskIndex)),
      split: suite.split,
      versions: { kind: 'fixed', version },
      // Greedy samples of an instance would all be the same: they are drawn as in training.
      temperature: samples > 1 && suite.temperature === 0 ? config.rollout.temperature : suite.temperature,
    },
  }
}

/** The name of an evaluation in lists. */
export function evaluationSummaryLine({ suite, version, episodes, samples }: EvaluationPlan): string {
  const each = samples === 1 ? '' : ` of ${samples} samples`
  return `${suite} · version ${version} · ${episodes} ${samples === 1 ? 'episodes' : 'instances'}${each}`
}

/**
 * How an evaluation is started, from within a workflow or from outside. An ended evaluation that is started again plays the
 * episodes that it lost; where there are none its result is the one in the store.
 */
export function evaluationStart(plan: EvaluationPlan, place: Place, waiting: Waiting = 'schedule') {
  const args: [EvaluationPlan] = [plan]
  return {
    workflowId: workflowIdOf(place.home, plan.evaluation),
    args,
    priority: priorityOf(waiting, plan.run),
    workflowTaskTimeout,
    staticSummary: evaluationSummaryLine(plan),
    staticDetails: evaluationFacts(plan, place),
    typedSearchAttributes: [
      { key: searchAttributes.run, value: workflowIdOf(place.home, plan.run) },
      { key: searchAttributes.task, value: plan.episode.task },
      { key: searchAttributes.suite, value: plan.suite },
      { key: searchAttributes.version, value: plan.version },
    ],
  }
}
