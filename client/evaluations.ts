/**
 * Evaluations from outside: one checkpoint over one suite, by hand.
 *
 * Invariants
 * - The same checkpoint, suite, instances and samples are measured once, whichever process asks.
 */
import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client'
import { type HomeName, workflowIdOf } from '../identity/identity.ts'
import { summaryOf } from '../storage/evaluations.ts'
import type { Store } from '../storage/store.ts'
import type { evaluation } from '../workflows/evaluation.ts'
import { evaluationPlan, evaluationStart } from '../workflows/evaluation-plan.ts'
import type { EvaluationSummary } from '../workflows/messages.ts'
import { taskQueue } from '../workflows/task-queues.ts'
import { type GoodVersion, publishedVersion, suiteOf } from './good-version.ts'
import { resultOf } from './run-calls.ts'
import type { StoredRuns } from './stored-runs.ts'

export interface EvaluationOptions {
  readonly version?: number
  readonly suite?: string
  /** Instances; the suite's own number by default. */
  readonly episodes?: number
  /** Episodes of each instance; the suite's own number by default. */
  readonly samples?: number
}

export interface RunEvaluations {
  /** Evaluates one checkpoint; the latest by default. */
  evaluate(run: string, options: EvaluationOptions): Promise<EvaluationSummary>
}

interface Dependencies extends Pick<StoredRuns, 'known'> {
  readonly client: Client
  /** Under which the server knows the home's work. */
  readonly homeName: HomeName
  readonly store: Store
  readonly goodVersion: GoodVersion
}

export function createRunEvaluations(dependencies: Dependencies): RunEvaluations {
  const { client, homeName, store, known, goodVersion } = dependencies
  return {
    async evaluate(run, wish) {
      const { id, config } = await known(run)
      const suite = suiteOf(id, config, wish.suite)
      const version = await goodVersion(id, wish.version ?? (await publishedVersion(store, id)))
      const plan = evaluationPlan(id, config, { ...wish, suite, version })
      const found = summaryOf(await store.evaluations.get(plan.evaluation))
      if (found !== undefined) return found
      // From now on the run keeps the version's checkpoint.
      const entry = { id: plan.evaluation, run: id, suite: plan.suite, version, seed: config.seed }
      await store.evaluations.insert({ ...entry, created: Date.now() })
      try {
        await client.workflow.start<typeof evaluation>('evaluation', {
          ...evaluationStart(plan, { namespace: client.options.namespace, home: homeName }),
          taskQueue: taskQueue('orchestrator', homeName),
        })
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error
      }
      const { workflow } = client
      const running = workflow.getHandle<typeof evaluation>(workflowIdOf(homeName, plan.evaluation))
      return resultOf(`evaluation ${plan.evaluation}`, running.result())
    },
  }
}
