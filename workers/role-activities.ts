/**
 * The activities of each role, and their runs, engines, trainers and environment sessions.
 *
 * Invariants
 * - Everything that an activity opened is closed in one order: sessions, engines, trainers, calls that were given up,
 *   tasks. A failure to close one part does not keep the later ones open.
 * - The caller closes the store.
 */

import { createAgentActivities } from '../activities/agents/agent-play.ts'
import { createBranchActivities } from '../activities/branches.ts'
import { createFailureReports } from '../activities/calls/failure-reports.ts'
import { type Calls, createCalls } from '../activities/calls/stopping.ts'
import { type Activities, heartbeating } from '../activities/calls/wrapping.ts'
import { createChildrenActivities } from '../activities/children.ts'
import { createEvaluationActivities } from '../activities/evaluation.ts'
import { createExperimentActivities } from '../activities/experiments.ts'
import { createAskedModels } from '../activities/play/asked-models.ts'
import { openEngine } from '../activities/play/engines.ts'
import { createEnvironmentActivities } from '../activities/play/environment.ts'
import { createSamplingActivities } from '../activities/play/sampling.ts'
import { createServing } from '../activities/play/serving.ts'
import { createTrajectoryActivities } from '../activities/play/trajectory.ts'
import { type AroundPart, createTurnActivities } from '../activities/play/turns.ts'
import { createAuditActivities, createRunActivities } from '../activities/run.ts'
import { createOpenRuns } from '../activities/stored/open-runs.ts'
import { createTrainingActivities } from '../activities/training.ts'
import { isCacheOff, warmStartsFolder } from '../machine/files/folder.ts'
import { checkpointCache } from '../policy/checkpoints/checkpoint-cache.ts'
import type { Home } from '../storage/disk/home.ts'
import type { Store } from '../storage/store.ts'
import type { Role, RoleWorkerOptions } from './role-worker-options.ts'
import { createTrainers } from './trainers.ts'

/** A call that was given up still writes a file or computes a step. */
const workingMs = 10_000

export interface RoleActivities extends AsyncDisposable {
  readonly of: Readonly<Record<Role, Activities>>
  /** The calls of all of them. */
  readonly calls: Calls
}

interface Dependencies
  extends Pick<
    RoleWorkerOptions,
    'createEngine' | 'createTrainer' | 'findEnvironment' | 'cache' | 'countCosts' | 'drainSeconds'
  > {
  readonly home: Home
  readonly store: Store
  readonly log: (line: string) => void
  readonly around: AroundPart
}

export function openRoleActivities(dependencies: Dependencies): RoleActivities {
  const { home, store, log, findEnvironment, countCosts } = dependencies
  const { createEngine = (config, run) => openEngine(config, run, log) } = dependencies
  const reports = createFailureReports({ failing: store.failing, log })
  const runs = createOpenRuns({ home, store, findEnvironment, reportSlow: reports.reportSlow, log })
  const serving = createServing({ runs, createEngine, log })
  const trainers = createTrainers(dependencies.createTrainer)
  const models = createAskedModels({ store, runs, serving, reports })
  const { closeSessions, ...sessions } = createEnvironmentActivities({ store, runs, models })
  const environment = { ...sessions, ...createBranchActivities({ store }) }
  const sampling = createSamplingActivities({ store, runs, serving })
  const trajectories = createTrajectoryActivities({ store, runs, onSealed: serving.release })
  const { closeAgents, ...agents } = createAgentActivities({ home, store, runs, serving, models, log })
  const { around } = dependencies
  const turns = createTurnActivities({ sampling, environment, trajectories, around })
  const warmStarts = warmStartsOf(dependencies)
  const calls = createCalls(dependencies.drainSeconds)

  /** As every activity is done: until the worker stops, its failures reported. */
  const done = <A extends Activities>(activities: A) => calls.untilStopping(reports.reporting(activities))

  const opened = new AsyncDisposableStack()
  opened.defer(() => runs.close())
  opened.defer(() => calls.settled(workingMs))
  opened.defer(() => trainers.closeAll())
  opened.defer(() => serving.closeAll())
  opened.defer(() => closeSessions())
  opened.defer(() => closeAgents())
  return {
    of: {
      orchestrator: done({ ...environment, ...sampling, ...turns, ...trajectories }),
      environment: done({ ...environment, ...heartbeating(trajectories) }),
      policy: heartbeating(
        done({
          ...sampling,
          ...agents,
          ...createRunActivities({ home, store, runs, serving, countCosts }),
          ...createEvaluationActivities({ store, runs }),
          ...createAuditActivities({ store }),
          ...createChildrenActivities(),
          ...createExperimentActivities({ store }),
        }),
      ),
      trainer: heartbeating(
        done(createTrainingActivities({ home, store, runs, trainerOf: trainers.of, warmStarts, log })),
      ),
    },
    calls,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

/** Warm starts in the user's cache; none where another trainer makes them, whose code is in no key. */
function warmStartsOf({ cache = !isCacheOff(), createTrainer: other, log }: Dependencies) {
  return cache && other === undefined ? checkpointCache(warmStartsFolder(), { log }) : undefined
}
