/**
 * Registration: a place among the deployments of a namespace, of which a server keeps a limited number.
 *
 * A worker whose deployment finds no place polls for ever and says nothing. So a home asks for its place first.
 *
 * Invariants
 * - Where there is no place, deployments that no workers and no running workflows use any more make room.
 * - Deployments in use are left alone; without a place a home works without a deployment, and says so.
 * - [REGISTRATION-1] A server that limits requests is asked again: that says nothing of how many places it has.
 */
import { tsToMs } from '@temporalio/common/lib/time.js'
import type { NativeConnection } from '@temporalio/worker'
import { taskQueue } from '../../contract/task-queues.ts'
import { reasonOf } from '../../faults/reason.ts'
import { type HomeName, ownServer } from '../../identity/identity.ts'
import { chance } from '../../machine/services/chance.ts'
import { clock, grpcDeadline } from '../../machine/services/clock.ts'
import { isExhausted, isExisting } from '../../temporal/calls/call-status.ts'
import { deploymentName } from './deployment-calls.ts'

/** The server forgets pollers after five minutes, and deletes no version that has some. */
const pollersGoneMs = 6 * 60_000
/** Room for the homes that come next; more would keep this one waiting. */
const removedAtOnce = 10
const callTimeoutMs = 15_000
/** A limit on requests that lasts longer does not go away by waiting. */
const limitedMs = 60_000
const limitedEveryMs = 2_000
/** `TASK_QUEUE_TYPE_WORKFLOW` of Temporal's API. */
const workflowQueue = 1

interface Registration {
  readonly connection: NativeConnection
  readonly namespace: string
  readonly home: HomeName
  readonly log: (line: string) => void
  /** Waits for so many milliseconds; tests need not. */
  readonly wait?: (ms: number) => Promise<unknown>
}

/** @returns whether the home has a deployment on the server */
export async function registerDeployment(registration: Registration): Promise<boolean> {
  const { home, namespace, log } = registration
  // A server of the home's own keeps this one alone.
  if (home === ownServer) return true
  const first = await createUnlessLimited(registration)
  if (first === 'created') return true
  if (first === 'full') {
    const removed = await removeDeserted(registration)
    if (removed > 0)
      log(`${removed} deployments that are not used any more made room in namespace ${namespace}`)
    if ((await createUnlessLimited(registration)) === 'created') return true
  }
  const why =
    first === 'full'
      ? 'has no room for another deployment'
      : `has limited requests for ${limitedMs / 1000} s and took no deployment`
  const more = first === 'full' ? ' `temporal worker deployment list` shows what an operator may delete.' : ''
  log(
    `namespace ${namespace} ${why}: workers of different releases are not distinguished here, so end all of them before an upgrade.${more}`,
  )
  return false
}

type Creation = 'created' | 'full' | 'limited'

/** Asks again while the server limits requests, for a minute at most. */
async function createUnlessLimited(registration: Registration): Promise<Creation> {
  const { namespace, log, wait = clock.sleep } = registration
  for (let waitedMs = 0; ; waitedMs += limitedEveryMs) {
    const creation = await create(registration)
    if (creation !== 'limited' || waitedMs >= limitedMs) return creation
    if (waitedMs === 0)
      log(`namespace ${namespace} limits requests; its place for this home is asked for again`)
    await wait(limitedEveryMs)
  }
}

async function create({ connection, namespace, home }: Registration): Promise<Creation> {
  try {
    await connection.withDeadline(grpcDeadline(callTimeoutMs), () =>
      connection.workflowService.createWorkerDeployment({
        namespace,
        deploymentName: deploymentName(home),
        requestId: chance.uuid(),
      }),
    )
    return 'created'
  } catch (error) {
    if (isExisting(error)) return 'created'
    // The server answers both with one status.
    if (isExhausted(error)) return /maximum .*deployments/i.test(reasonOf(error)) ? 'full' : 'limited'
    throw error
  }
}

async function removeDeserted(registration: Registration): Promise<number> {
  const { connection, namespace, home, log } = registration
  const prefix = deploymentName(ownServer)
  const { workerDeployments } = await connection.workflowService.listWorkerDeployments({ namespace })
  let removed = 0
  for (const { name } of workerDeployments) {
    if (removed >= removedAtOnce) break
    if (name == null || !name.startsWith(`${prefix}-`) || name === deploymentName(home)) continue
    try {
      if (await remove(registration, name, name.slice(prefix.length + 1) as HomeName)) removed += 1
    } catch (error) {
      log(`deployment ${name} stays: ${reasonOf(error)}`)
    }
  }
  return removed
}

/** @returns false where it is in use */
async function remove(
  { connection, namespace }: Registration,
  name: string,
  owner: HomeName,
): Promise<boolean> {
  const { workflowService } = connection
  const { pollers } = await workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name: taskQueue('orchestrator', owner) },
    taskQueueType: workflowQueue,
  })
  const isFresh = pollers.some(({ lastAccessTime }) => clock.now() - tsToMs(lastAccessTime) < pollersGoneMs)
  const query = `ExecutionStatus = "Running" AND TemporalWorkerDeployment = "${name}"`
  if (isFresh || Number((await workflowService.countWorkflowExecutions({ namespace, query })).count) > 0)
    return false
  const described = await workflowService.describeWorkerDeployment({ namespace, deploymentName: name })
  const { versionSummaries, routingConfig } = described.workerDeploymentInfo ?? {}
  if (routingConfig?.currentDeploymentVersion != null)
    await workflowService.setWorkerDeploymentCurrentVersion({
      namespace,
      deploymentName: name,
      buildId: '',
      ignoreMissingTaskQueues: true,
      allowNoPollers: true,
    })
  for (const { deploymentVersion } of versionSummaries ?? [])
    await workflowService.deleteWorkerDeploymentVersion({
      namespace,
      deploymentVersion: deploymentVersion ?? null,
      skipDrainage: true,
    })
  await workflowService.deleteWorkerDeployment({ namespace, deploymentName: name })
  return true
}
