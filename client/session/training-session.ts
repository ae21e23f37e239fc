/**
 * A session with Perdure: start, watch and steer runs from a program or the command line.
 *
 * Invariants
 * - Closing a session stops what it started (workers, engines, the embedded server's last user) and
 *   leaves every run resumable.
 * - A server that goes away while a session is opened ends the opening with that reason, or is waited for.
 * - Steering goes through the run's workflow: two sessions see and do the same.
 */
import { join, resolve } from 'node:path'
import { definitionOf } from '../../activities/stored/open-runs.ts'
import { inHome } from '../../config/files/home-paths.ts'
import type { RunConfig } from '../../config/schema/schema.ts'
import type { EnvironmentDefinition } from '../../envs/contract/environment.ts'
import { reasonOf } from '../../faults/reason.ts'
import { ownServer, parseWorkflowId } from '../../identity/identity.ts'
import { requireAddressSpace } from '../../machine/processes/address-space.ts'
import { grpcDeadline } from '../../machine/services/clock.ts'
import { createHome, type Home } from '../../storage/disk/home.ts'
import { requireDisk } from '../../storage/disk/room.ts'
import type { MetricsPlace } from '../../telemetry/telemetry.ts'
import { fleetNamed } from '../../temporal/home-name.ts'
import { installRuntime } from '../../temporal/runtime.ts'
import { reaching } from '../../temporal/server/fault.ts'
import { type Claim, claimName, claimRegister } from '../../temporal/store-claim.ts'
import { type Role, type RoleWorkerOptions, roles } from '../../workers/role-worker-options.ts'
import { type RoleWorkers, startRoleWorkers } from '../../workers/role-workers.ts'
import { createRunExperiments, type RunExperiments } from '../experiment/experiments.ts'
import { createExperimentLosses, type ExperimentLosses } from '../experiment/lost-episodes.ts'
import { createRunBranches, type RunBranches } from '../run/branches.ts'
import { createRunEvaluations, type RunEvaluations } from '../run/evaluations.ts'
import { createGoodVersion } from '../run/good-version.ts'
import { createRunPromotions, type RunPromotions } from '../run/promotions.ts'
import { openRunCalls, type SessionParts } from '../run/run-calls.ts'
import { createRunsProgress, type RunsProgress } from '../run/run-progress.ts'
import { createRunLaunch, createRunStart, type RunStart } from '../run/run-start.ts'
import { createRunSteering, type RunSteering, whoami } from '../run/run-steering.ts'
import { createRunSchedules, type RunSchedules } from '../run/schedules.ts'
import { openSessionHome, type SessionHome } from '../run/session-home.ts'
import { createStoredRuns } from '../run/stored-runs.ts'
import { type CostCount, startCostCount } from './cost-count.ts'
import { createFleetView, type FleetView } from './fleet.ts'
import { continueFromStore, findRestoredRuns, noneRestored } from './restored-home.ts'
import { openSessionTelemetry, type SessionTelemetry } from './session-telemetry.ts'
import { startSessionUpkeep } from './session-upkeep.ts'

export type {
  EvaluationSummary,
  FailedEvaluation,
  RunProgress,
} from '../../contract/messages.ts'

export type { RunPhase } from '../../learning/run/run-phase.ts'
export { type Role, roles } from '../../workers/role-worker-options.ts'
export type { BranchFindings, EpisodeRow } from '../run/branches.ts'
export type { EvaluationOptions } from '../run/evaluations.ts'
export type { Promotion } from '../run/promotions.ts'
export type { AuditEntry, SettingsChange } from '../run/run-steering.ts'
export type { EvaluationSchedule, Timing } from '../run/schedules.ts'
export type { Fleet } from './fleet.ts'

export interface SessionOptions
  extends Pick<
    RoleWorkerOptions,
    | 'createEngine'
    | 'createTrainer'
    | 'cache'
    | 'findEnvironment'
    | 'shared'
    | 'workflows'
    | 'slots'
    | 'drainSeconds'
  > {
  readonly home: string
  /** `client` starts no workers. */
  readonly roles: 'all' | 'client' | readonly Role[]
  readonly log: (line: string) => void
  /** Milliseconds between two looks at the disk of the home; 5 seconds by default. */
  readonly diskLookMs?: number
  /** Milliseconds between two searches for workflows of other builds; a minute by default. */
  readonly takeoverLookMs?: number
  /** Gives up opening the session; the parts opened so far are closed, and `openSession` rejects with its reason. */
  readonly signal?: AbortSignal | undefined
  /** Who gives orders, for the audit trail; the user of this process by default. */
  readonly by?: string
  /** Where Prometheus may fetch metrics; nowhere by default. Another host than loopback needs a token. */
  readonly metrics?: MetricsPlace | undefined
}

export interface TrainingSession
  extends RunStart,
    RunsProgress,
    RunSteering,
    RunEvaluations,
    RunSchedules,
    RunPromotions,
    RunBranches,
    RunExperiments,
    ExperimentLosses,
    FleetView,
    AsyncDisposable {
  /** Address of the Temporal UI, where there is one. */
  readonly uiUrl: string | undefined
  /** Settles when the workers of this session stop; never for a client. @throws StorageFault, TemporalFault the home or its server is lost */
  readonly stopped: Promise<void>
  /** Advice for a home without runs; undefined when it has some. */
  emptyHome(): Promise<string | undefined>
  close(): Promise<void>
}

/** Opens a session: connects (starting the embedded server where none is named) and starts the workers. */
export async function openSession(options: SessionOptions): Promise<TrainingSession> {
  const { signal, log, by = whoami() } = options
  const wanted = options.roles === 'all' ? roles : options.roles === 'client' ? [] : options.roles
  const hasWorkers = wanted.length > 0
  if (hasWorkers) {
    requireAddressSpace()
    requireDisk(resolve(options.home))
  }
  const home = createHome(options.home)
  // A part that cannot be opened ends the session and closes the parts opened before it, the last one first.
  await using opened = new AsyncDisposableStack()
  const telemetry = opened.use(hasWorkers ? await openSessionTelemetry({ ...options, roles: wanted }) : null)
  const place = opened.use(await openSessionHome(home, { log, signal, hasWorkers }))
  const calls = opened.use(openRunCalls(place))
  signal?.throwIfAborted()
  const known = { ...place, ...calls, ...createStoredRuns(place) }
  const { ownProgress, ...progress } = createRunsProgress(known)
  telemetry?.readFrom({ parts: known, ownProgress })
  const claim = opened.use(hasWorkers && fleetNamed() !== undefined ? await claimOf(known, log) : null)
  const parts = { ...known, goodVersion: createGoodVersion({ ...place, log }), log, by }
  const launch = createRunLaunch(parts)
  const restored = hasWorkers ? await findRestoredRuns(place) : noneRestored
  await continueFromStore(parts, restored, launch)
  // It begins with the first work: opening workers is no cost of a run.
  let costs: CostCount | undefined
  const countCosts = async () => costs?.count()
  const workers = opened.use(
    telemetry === null ? null : await openWorkers({ ...options, countCosts }, wanted, place, telemetry),
  )
  if (hasWorkers) costs = opened.use(startCostCount({ ...known, costs: known.store.costs, log }))
  signal?.throwIfAborted()

  const steering = createRunSteering(parts)
  const upkeep = opened.use(
    workers === null
      ? null
      : startSessionUpkeep({ parts, launch, ownProgress, steering, workers }, { ...options, roles: wanted }),
  )
  const start = createRunStart({ ...parts, launch, older: restored.older, looked: upkeep?.looked })
  const branches = createRunBranches({ ...parts, definitionOf: definitionIn(home, options) })
  const evaluations = createRunEvaluations(parts)
  const schedules = createRunSchedules(parts)
  const promotions = createRunPromotions(parts)
  const experiments = createRunExperiments({ ...parts, progress: progress.progress, resume: start.resume })

  const endings = [workers?.stopped, place.lost, claim?.lost].filter((each) => each !== undefined)
  const stopped = Promise.race(endings)
  stopped.catch(() => undefined)
  const all = opened.move()
  return {
    uiUrl: place.server.uiUrl,
    stopped,
    ...start,
    ...progress,
    ...steering,
    ...evaluations,
    ...schedules,
    ...promotions,
    ...branches,
    ...experiments,
    ...createExperimentLosses(parts, evaluations),
    ...createFleetView(parts),
    emptyHome: () => emptyHomeNotice(parts),
    close: () => all.disposeAsync(),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}

/** The claim of the store to the name of its fleet. @throws TemporalFault `copied_store` */
function claimOf(
  { store, client, homeName }: Pick<SessionParts, 'store' | 'client' | 'homeName'>,
  log: (line: string) => void,
): Promise<Claim> {
  const { nonces, file } = store
  return claimName({ nonces, register: claimRegister(client, homeName), file, name: homeName, log })
}

/** The workers of a session, with the log and the metrics of their runtime. */
async function openWorkers(
  options: SessionOptions & Pick<RoleWorkerOptions, 'countCosts'>,
  wanted: readonly Role[],
  { home, server: connection, homeName }: SessionHome,
  telemetry: SessionTelemetry,
): Promise<RoleWorkers> {
  // As late as can be: a runtime that is installed and never used keeps the process alive.
  installRuntime(join(home.logsDir, 'workers.log'), { onLine: options.log, metricsPort: telemetry.sdkPort })
  return reaching(connection, () =>
    startRoleWorkers({ ...options, roles: wanted, connection, homeName, telemetry }),
  )
}

/** The environment of the task at a position of the task mix. */
function definitionIn(home: Home, { findEnvironment }: Pick<SessionOptions, 'findEnvironment'>) {
  return async (config: RunConfig, taskIndex: number): Promise<EnvironmentDefinition> => {
    const entry = inHome(config, home.dir).tasks[taskIndex]
    if (entry === undefined) throw new RangeError(`tasks.${taskIndex} is not configured`)
    return definitionOf(entry, findEnvironment)
  }
}

const lookDeadlineMs = 10_000

/** At most so many runs are looked at, and so many of each home named. */
const looked = 200

const named = 3
type Parts = Pick<SessionParts, 'home' | 'store' | 'server' | 'homeName' | 'client'>

/** @returns what a worker says of a home without runs, with the homes that its server knows; undefined where it has some */
export async function emptyHomeNotice(parts: Parts): Promise<string | undefined> {
  const { home, store, server, homeName } = parts
  if ((await store.runs.list()).length > 0) return undefined
  const notice = `${home.storeFile} has no runs: this worker has nothing to do until one is started with the same home`
  if (server.isOwn) return notice
  return `${notice}. The server at ${server.address} knows this home as ${homeName}; ${await othersInWords(parts)}`
}

async function othersInWords(parts: Parts): Promise<string> {
  try {
    const homes = await homesInProgress(parts)
    if (homes.size === 0) return 'no home has runs in progress there'
    return `runs in progress there belong to ${[...homes].map(([name, runs]) => homeWords(name, runs)).join(', ')}`
  } catch (error) {
    // The worker works without the list.
    return `the homes that have runs there cannot be listed (${reasonOf(error)})`
  }
}

/** The names of running runs by the home that they belong to, as the server has them. */
async function homesInProgress({ client, server }: Parts): Promise<ReadonlyMap<string, readonly string[]>> {
  const query = 'WorkflowType = "trainingRun" AND ExecutionStatus = "Running"'
  const found: { readonly home: string; readonly run: string }[] = []
  await client.withDeadline(grpcDeadline(lookDeadlineMs), async () => {
    for await (const { workflowId } of client.workflow.list({ query })) {
      const { home, id } = parseWorkflowId(workflowId)
      found.push({ home: home === ownServer ? server.namespace : home, run: id })
      if (found.length >= looked) break
    }
  })
  const homes = Map.groupBy(found, ({ home }) => home)
  return new Map([...homes].map(([home, runs]) => [home, runs.map(({ run }) => run).sort()]))
}

function homeWords(name: string, runs: readonly string[]): string {
  const more = runs.length > named ? ` and ${runs.length - named} more` : ''
  return `${name} (${runs.slice(0, named).join(', ')}${more})`
}
