/**
 * The plan of an evaluation, the same whether a run, a person or a schedule asks for it.
 *
 * Invariants
 * - The same checkpoint, suite and number of episodes give the same plan, hence the same identity.
 */
import type { RunConfig } from '../config/schema.ts'
import { evaluationId, type RunId } from '../identity.ts'
import type { EpisodePlan, EvaluationPlan } from './messages.ts'

/** Episodes of an evaluation that are played at once: enough to fill the engine's batches. */
const concurrency = 64

type Suite = RunConfig['evaluation']['suites'][number]

/** What all episodes of a task have in common. */
export function episodeRules(
  run: RunId,
  { rollout, orchestration, seed, tasks }: RunConfig,
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
    dispatch: orchestration.dispatch,
  }
}

/** @param asked.episodes another number than the suite's own makes another evaluation */
export function evaluationPlan(
  run: RunId,
  config: RunConfig,
  asked: { readonly suite: Suite; readonly version: number; readonly episodes: number },
): EvaluationPlan {
  const { suite, version, episodes } = asked
  const name = episodes === suite.episodes ? suite.name : `${suite.name}-${episodes}`
  const taskIndex = config.tasks.findIndex((task) => task.task === suite.task)
  return {
    evaluation: evaluationId(run, name, version, config.seed),
    run,
    suite: name,
    version,
    episodes,
    concurrency,
    maxAttempts: config.rollout.maxAttempts,
    episode: {
      ...episodeRules(run, config, Math.max(0, taskIndex)),
      split: suite.split,
      versions: { kind: 'fixed', version },
      temperature: suite.temperature,
    },
  }
}
