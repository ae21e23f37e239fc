/**
 * The fleet of a home: which machines work for it, how much of them is in use, and what waits.
 *
 * Invariants
 * - [FLEET-1] Only workers of this home's queues are listed, of each process one row per role.
 * - The figures are the last that the server has: a worker reports every few seconds, and one that is silent for long is lost.
 */
import type { Client } from '@temporalio/client'
import api, { type temporal } from '@temporalio/proto'
import { type QueueRole, taskQueue } from '../../contract/task-queues.ts'
import type { HomeName } from '../../identity/identity.ts'
import { clock } from '../../machine/services/clock.ts'
import { heartbeatSeconds } from '../../temporal/runtime.ts'
import { roles } from '../../workers/role-worker-options.ts'

/** A role of one process. */
export interface FleetWorker {
  readonly machine: string
  readonly process: string
  readonly role: QueueRole
  /** `lost`: it has not reported for three times its interval. */
  readonly state: 'working' | 'draining' | 'lost'
  /** Workflow tasks of an orchestrator, activities of the others. */
  readonly slots: { readonly used: number; readonly of: number }
  /** Milliseconds since it reported. */
  readonly silentMs: number
}

/** Work that waits for a worker of a role. */
export interface FleetQueue {
  readonly role: QueueRole
  readonly waiting: number
  /** Age of the oldest. */
  readonly oldestMs: number
}

export interface Fleet {
  readonly workers: readonly FleetWorker[]
  readonly queues: readonly FleetQueue[]
}

export interface FleetView {
  /** Machines and queues of this home, as the server knows them now. */
  fleet(): Promise<Fleet>
}

type Worker = temporal.api.worker.v1.IWorkerHeartbeat
type Slots = temporal.api.worker.v1.IWorkerSlotsInfo | null | undefined
const { WorkerStatus, TaskQueueType } = api.temporal.api.enums.v1
const { TASK_QUEUE_TYPE_ACTIVITY, TASK_QUEUE_TYPE_WORKFLOW } = TaskQueueType
const pageSize = 200

export function createFleetView({
  client,
  homeName,
}: {
  readonly client: Client
  readonly homeName: HomeName
}): FleetView {
  const { namespace } = client.options

  async function heartbeats(): Promise<readonly Worker[]> {
    const found: Worker[] = []
    let nextPageToken: Uint8Array | undefined
    do {
      const page = await client.workflowService.listWorkers({
        namespace,
        pageSize,
        ...(nextPageToken === undefined ? {} : { nextPageToken }),
      })
      for (const { workerHeartbeat } of page.workersInfo) if (workerHeartbeat) found.push(workerHeartbeat)
      nextPageToken = page.nextPageToken.length > 0 ? page.nextPageToken : undefined
    } while (nextPageToken !== undefined)
    return found
  }

  async function queue(role: QueueRole): Promise<FleetQueue> {
    const { stats } = await client.workflowService.describeTaskQueue({
      namespace,
      taskQueue: { name: taskQueue(role, homeName) },
      taskQueueType: role === 'orchestrator' ? TASK_QUEUE_TYPE_WORKFLOW : TASK_QUEUE_TYPE_ACTIVITY,
      reportStats: true,
    })
    return {
      role,
      waiting: Number(stats?.approximateBacklogCount ?? 0),
      oldestMs: milliseconds(stats?.approximateBacklogAge),
    }
  }

  return {
    async fleet() {
      const [reported, queues] = await Promise.all([heartbeats(), Promise.all(roles.map(queue))])
      return { workers: reported.flatMap((worker) => rowOf(worker, homeName)), queues }
    },
  }
}

/** @returns nothing for a worker of another home, or one that has ended */
function rowOf(worker: Worker, homeName: HomeName): readonly FleetWorker[] {
  const role = roles.find((each) => taskQueue(each, homeName) === worker.taskQueue)
  if (role === undefined || worker.status === WorkerStatus.WORKER_STATUS_SHUTDOWN) return []
  const silentMs = Math.max(0, clock.now() - milliseconds(worker.heartbeatTime))
  const isDraining = worker.status === WorkerStatus.WORKER_STATUS_SHUTTING_DOWN
  return [
    {
      machine: worker.hostInfo?.hostName ?? 'unknown',
      process: worker.hostInfo?.processId ?? '',
      role,
      state: silentMs > 3 * heartbeatSeconds * 1000 ? 'lost' : isDraining ? 'draining' : 'working',
      slots: slotsOf(role === 'orchestrator' ? worker.workflowTaskSlotsInfo : worker.activityTaskSlotsInfo),
      silentMs,
    },
  ]
}

function slotsOf(slots: Slots): FleetWorker['slots'] {
  const used = slots?.currentUsedSlots ?? 0
  return { used, of: used + (slots?.currentAvailableSlots ?? 0) }
}

function milliseconds(
  time: { readonly seconds?: unknown; readonly nanos?: number | null } | null | undefined,
): number {
  return Number(time?.seconds ?? 0) * 1000 + Math.round((time?.nanos ?? 0) / 1_000_000)
}
