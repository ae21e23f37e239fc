/**
 * Evaluations from outside: one checkpoint over one suite, by hand.
 *
 * Invariants
 * - The same checkpoint, suite, instances and samples are measured once, whichever process asks. Repeating an incomplete
 *   evaluation plays only the episodes that it lost.
 */
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client'
import type { EvaluationPlan, EvaluationSummary } from '../../contract/messages.ts'
import { taskQueue } from '../../contract/task-queues.ts'
import { type EvaluationId, workflowIdOf } from '../../identity/identity.ts'
import { isComplete } from '../../learning/evaluation/evaluation-completeness.ts'
import { clock } from '../../machine/services/clock.ts'
import { type SuiteFigures, summaryOf } from '../../storage/records/evaluations.ts'
import type { evaluation } from '../../workflows/play/evaluation.ts'
import { evaluationPlan, evaluationStart } from '../../workflows/play/evaluation-plan.ts'
import { publishedVersion, suiteOf } from './good-version.ts'
import { resultOf, type SessionParts } from './run-calls.ts'

export interface EvaluationOptions {
  readonly version?: number | undefined
  readonly suite?: string | undefined
  /** Instances; the suite's own number by default. */
  readonly episodes?: number | undefined
  /** Episodes of each instance; the suite's own number by default. */
  readonly samples?: number | undefined
}

export interface RunEvaluations {
  /** Evaluates one checkpoint; the latest by default. */
  evaluate(run: string, options: EvaluationOptions): Promise<MeasuredSuite>
}

/** The result of an evaluation with its other measures; those are absent where no episode ended with a reward. */
export type MeasuredSuite = EvaluationSummary & Pick<SuiteFigures, 'measures'>

export function createRunEvaluations(parts: SessionParts): RunEvaluations {
  const { client, homeName, store, known, goodVersion } = parts

  async function withMeasures(id: EvaluationId, summary: EvaluationSummary): Promise<MeasuredSuite> {
    const { measures }: SuiteFigures = (await store.evaluations.get(id))?.result?.statistics ?? {}
    return { ...summary, ...(measures === undefined ? {} : { measures }) }
  }

  /** Starts an execution. @returns whether there was none */
  async function startExecution(plan: EvaluationPlan): Promise<boolean> {
    try {
      await client.workflow.start<typeof evaluation>('evaluation', {
        ...evaluationStart(plan, { namespace: client.options.namespace, home: homeName }, 'person'),
        taskQueue: taskQueue('orchestrator', homeName),
      })
      return true
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError) return false
      throw error
    }
  }

  return {
    async evaluate(run, wish) {
      const { id, config } = await known(run)
      const suite = suiteOf(id, config, wish.suite)
      const version = await goodVersion(id, wish.version ?? (await publishedVersion(store, id)))
      const plan = evaluationPlan(id, config, { ...wish, suite, version })
      const found = summaryOf(await store.evaluations.get(plan.evaluation))
      if (found !== undefined && isComplete(found)) return await withMeasures(plan.evaluation, found)
      // From now on the run keeps the version's checkpoint.
      const entry = { id: plan.evaluation, run: id, suite: plan.suite, version, seed: config.seed }
      await store.evaluations.insert({ ...entry, created: clock.now() })
      const name = `evaluation ${plan.evaluation}`
      const { workflow } = client
      const running = workflow.getHandle<typeof evaluation>(workflowIdOf(homeName, plan.evaluation))
      if (!(await startExecution(plan)) && found !== undefined) {
        // The execution that is to be repeated reports its result before it ends.
        const other = await resultOf(name, running)
        if (isComplete(other)) return await withMeasures(plan.evaluation, other)
        await startExecution(plan)
      }
      return await withMeasures(plan.evaluation, await resultOf(name, running))
    },
  }
}
