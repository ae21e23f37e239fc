/**
 * Place: the namespace and home of a workflow. Children, queues and links of a workflow have the same place.
 *
 * Invariants
 * - The home is the one in the workflow's own id: nothing of it is carried in plans or states.
 * - Identities in plans, states and stores have no home; identities that go to the server have it.
 */
import { workflowInfo } from '@temporalio/workflow'
import { type QueueRole, taskQueue } from '../../contract/task-queues.ts'
import { parseWorkflowId, workflowIdOf } from '../../identity/identity.ts'
import type { Place } from './links.ts'

/** The place of this workflow. */
export function here(): Place {
  const { namespace, workflowId } = workflowInfo()
  return { namespace, home: parseWorkflowId(workflowId).home }
}

/** The workflow id of work of the same home. */
export function idHere(id: string): string {
  return workflowIdOf(here().home, id)
}

/** The queue of a role of the same home. */
export function queueHere(role: QueueRole): string {
  return taskQueue(role, here().home)
}
