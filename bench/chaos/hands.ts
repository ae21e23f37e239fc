/**
 * Hands: what a person does to the work of a run in Temporal's UI, and how a run that was ended there is resumed.
 *
 * Invariants
 * - Work that was ended by hand is remembered by its id: the audit expects no more of it.
 * - No evaluation is ended so often that its run gives it up: each must have a result.
 */
import type { Client } from '@temporalio/client'
import { SessionFault } from '../../client/run/session-fault.ts'
import type { TrainingSession } from '../../client/session/training-session.ts'
import { searchAttributes } from '../../contract/messages.ts'
import { isNotFound } from '../../temporal/calls/call-status.ts'
import { listQuery } from '../../workflows/page/links.ts'

/** A third time it would be given up. */
const mostTimesEnded = 2

/** Types of workflows, as the server knows them. */
export type WorkflowType = 'trainingRun' | 'rolloutGroup' | 'episode' | 'evaluation'

export class Hands {
  readonly #times: Map<string, number>
  readonly #client: Client
  readonly #session: Pick<TrainingSession, 'resume' | 'evaluateNow'>

  /** @param times how often each workflow was ended by then */
  constructor(
    client: Client,
    session: Pick<TrainingSession, 'resume' | 'evaluateNow'>,
    times: Map<string, number>,
  ) {
    this.#client = client
    this.#session = session
    this.#times = times
  }

  /** Workflow ids. */
  get ended(): ReadonlySet<string> {
    return new Set(this.#times.keys())
  }

  /** One of the workflows of a type that the run has in flight. @param choice uniform in [0, 1) */
  async pick(run: string, type: WorkflowType, choice: number): Promise<string | undefined> {
    const query = `${listQuery(type, [['run', '=', run]])} AND ExecutionStatus="Running"`
    const found: string[] = []
    for await (const { workflowId } of this.#client.workflow.list({ query })) found.push(workflowId)
    const mayEnd = found.filter((id) => type !== 'evaluation' || this.#timesEnded(id) < mostTimesEnded)
    return mayEnd.toSorted()[Math.floor(choice * mayEnd.length)]
  }

  #timesEnded(workflow: string): number {
    return this.#times.get(workflow) ?? 0
  }

  /** Asks the run for an evaluation, where it has none in flight that may be ended. */
  async pickEvaluation(run: string, choice: number): Promise<string | undefined> {
    const found = await this.pick(run, 'evaluation', choice)
    if (found === undefined)
      try {
        await this.#session.evaluateNow(run)
      } catch (error) {
        if (!(error instanceof SessionFault)) throw error // it is not ready for one: asked again at the next look
      }
    return found
  }

  /** @returns false where it had ended before */
  async end(workflow: string, how: 'terminate' | 'cancel'): Promise<boolean> {
    const handle = this.#client.workflow.getHandle(workflow)
    const { status } = await handle.describe()
    if (status.name !== 'RUNNING') return false
    try {
      await handle[how]()
    } catch (error) {
      // It ended between the look and the blow.
      if (!isNotFound(error)) throw error
      return false
    }
    this.#times.set(workflow, this.#timesEnded(workflow) + 1)
    return true
  }

  async resume(run: string): Promise<void> {
    await this.#session.resume(run)
  }

  /** Ids of the run's workflows that have completed, as far as the server's list has them. */
  async completed(run: string): Promise<ReadonlySet<string>> {
    const query = `${searchAttributes.run.name} = "${run}" AND ExecutionStatus = "Completed"`
    const ids = new Set<string>()
    for await (const { workflowId } of this.#client.workflow.list({ query })) ids.add(workflowId)
    return ids
  }

  /** Work that is begun again because its store or its workflows are of an earlier moment. */
  expectAgain(workflows: Iterable<string>): void {
    for (const id of workflows) this.#times.set(id, this.#timesEnded(id))
  }

  /** Whether a workflow of that id is in progress, or has completed. */
  async isDoneOrRuns(workflow: string): Promise<boolean> {
    const { status } = await this.#client.workflow.getHandle(workflow).describe()
    return status.name === 'RUNNING' || status.name === 'COMPLETED'
  }
}
