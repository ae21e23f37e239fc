/**
 * Role workers: the Temporal workers of one process, one per role that it takes on.
 *
 * Invariants
 * - [ROLES-1] Everything that is started here is stopped by `close`, or when the rest cannot be started.
 * - It is stopped in one order: workers with their calls in progress, sessions, engines, trainers, tasks, connection, store.
 *   A failure to stop one part does not keep the later ones running.
 * - With local dispatch episodes play in the orchestrator; with server dispatch in the environment workers, which
 *   hold the sessions, and sample through the policy workers' queue.
 */
import { NativeConnection } from '@temporalio/worker'
import { createHome } from '../storage/disk/home.ts'
import { openStore } from '../storage/store.ts'
import { observe } from '../telemetry/observation.ts'
import { compressionTo } from '../temporal/connection.ts'
import { dataConverter } from '../temporal/payload-encryption.ts'
import { logged } from '../temporal/runtime.ts'
import { type Deployment, joinDeployment, knowsBuilds } from './deployment/deployment.ts'
import { registerDeployment } from './deployment/deployment-registration.ts'
import { type BuiltWorkflows, workflowBundle } from './deployment/workflow-bundle.ts'
import { flushedActivities } from './flushed-activities.ts'
import { openRoleActivities } from './role-activities.ts'
import { createRoleWorker, type WorkflowCode } from './role-worker.ts'
import { type Role, type RoleWorkerOptions, roles } from './role-worker-options.ts'
import { createRunningWorkers } from './running-workers.ts'

/** Those whose workers run workflows. */
const workflowRoles: ReadonlySet<Role> = new Set(['orchestrator', 'environment'])

export interface RoleWorkers extends AsyncDisposable {
  /** With an orchestrator on a server that keeps builds of the workflows apart. */
  readonly deployment: Deployment | undefined
  /** With a role that runs workflows. */
  readonly workflows: BuiltWorkflows | undefined
  /** Settles when a worker stops, with its error when it failed. */
  readonly stopped: Promise<void>
  close(): Promise<void>
}

/** Starts the workers of the roles and returns when they poll. */
export async function startRoleWorkers(options: RoleWorkerOptions): Promise<RoleWorkers> {
  const { connection, homeName } = options
  const log = logged(options.log)
  const home = createHome(options.home)
  await using opened = new AsyncDisposableStack()
  const store = opened.use(await openStore(home.storeFile))
  const native = await NativeConnection.connect({
    ...connection.options,
    grpcCompression: compressionTo(connection.address),
  })
  opened.defer(() => native.close())
  const observation = observe(options.telemetry?.observers ?? [], (error) =>
    log(`telemetry is not recorded: ${String(error)}`),
  )
  const activities = opened.use(
    openRoleActivities({ ...options, home, store, log, around: observation.part }),
  )
  const running = opened.use(createRunningWorkers(activities.calls, log))
  const converter = dataConverter()
  const code = await workflowCode(options, native, log, {
    observed: observation.sinks !== undefined,
    encrypted: converter !== undefined,
  })
  const common = {
    connection: native,
    namespace: connection.namespace,
    homeName,
    interceptors: { activity: [observation.activity, flushedActivities(store)] },
    ...(observation.sinks === undefined ? {} : { sinks: observation.sinks }),
    ...(converter === undefined ? {} : { dataConverter: converter }),
  }
  for (const role of roles.filter((each) => options.roles.includes(each)))
    running.start(
      await createRoleWorker(role, activities.of[role], common, workflowRoles.has(role) ? code : undefined),
    )
  const stopped = running.stopped()
  const deployment = deploymentOf(options, native, code?.build, log)
  opened.defer(() => deployment?.close())
  const all = opened.move()
  const close = () => all.disposeAsync()
  return { deployment, workflows: code?.workflows, stopped, close, [Symbol.asyncDispose]: close }
}

/** The code for the roles that run workflows; undefined where this process has none of them. */
async function workflowCode(
  {
    roles: wanted,
    connection: { namespace },
    homeName,
    workflows: folder,
    maxCachedWorkflows,
  }: RoleWorkerOptions,
  connection: NativeConnection,
  log: (line: string) => void,
  kind: { readonly observed: boolean; readonly encrypted: boolean },
): Promise<WorkflowCode | undefined> {
  if (!wanted.some((role) => workflowRoles.has(role))) return undefined
  const workflows = await workflowBundle({ ...kind, folder })
  const keepsBuildsApart =
    (await knowsBuilds(connection)) &&
    (await registerDeployment({ connection, namespace, home: homeName, log }))
  return { workflows, build: keepsBuildsApart ? workflows.build : undefined, maxCachedWorkflows }
}

/** Undefined without an orchestrator, or on a server that does not keep builds apart. */
function deploymentOf(
  { roles: wanted, connection: server, homeName, shared = false }: RoleWorkerOptions,
  connection: NativeConnection,
  build: string | undefined,
  log: (line: string) => void,
): Deployment | undefined {
  if (build === undefined || !wanted.includes('orchestrator')) return undefined
  return joinDeployment({
    connection,
    namespace: server.namespace,
    home: homeName,
    build,
    shared,
    isAlone: () => server.isAlone(),
    log,
  })
}
