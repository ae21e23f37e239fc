/**
 * The workload: the runs that a deployment trains while it is broken.
 *
 * Invariants
 * - A run is a function of its seed and number; deterministic runs are those of the tests' whole pipeline.
 * - A run ends with the last fault made in it, a deterministic one after its updates.
 */
import { fileURLToPath } from 'node:url'
import { loadConfig } from '../../config/files/loader.ts'
import type { RunConfig } from '../../config/schema/schema.ts'
import { type RunId, runId } from '../../identity/identity.ts'
import { homeAt } from '../../storage/disk/home.ts'
import type { Containers } from './containers.ts'

export interface Workload {
  readonly seed: number
  /** The number of the run in its deployment, from 1. */
  readonly number: number
  readonly home: string
  /** With an engine part of the episodes live in containers. */
  readonly containers: Containers | string
  readonly deterministic?: boolean | undefined
  /** Updates of a deterministic run. */
  readonly updates?: number | undefined
}

/** Turns of an episode, as in the whole pipeline. */
export const turnLimit = 10
/** Updates of a deterministic run at least; a fault may strike in each. */
const fewestUpdates = 3

export function nameOf(number: number): RunId {
  return runId(`chaos-${number}`)
}

/** The configuration of a run. */
export function configuration(workload: Workload): RunConfig {
  const { seed, number, home, containers, deterministic, updates = 0 } = workload
  return loadConfig({
    file: fileURLToPath(new URL('../../test/support/whole-pipeline.yaml', import.meta.url)),
    set: [
      'orchestration.dispatch=server',
      `seed=${seed}`,
      'rollout.refill=1',
      ...(number === 1 ? [] : startedFrom(homeAt(home).run(nameOf(1)).checkpointDir(0))),
      ...(typeof containers === 'string' ? [] : alsoInContainers(containers)),
      ...(deterministic === true
        ? [
            'rollout.maxStaleness=0',
            `training.updates=${Math.max(fewestUpdates, updates)}`,
            'evaluation.suites=[]',
          ]
        : [
            'rollout.groupSize=2', // small updates come often, and faults strike between and within them
            'rollout.groupsPerUpdate=2',
            'rollout.maxStaleness=1', // who waits for what was broken does not play on for long
            'training.updates=100000', // until the last fault
            'orchestration.historyEvents=600', // continues as new now and then
          ]),
    ],
  })
}

/** Starts from the first run's checkpoint: it has learnt from demonstrations already. */
function startedFrom(checkpoint: string): readonly string[] {
  return [`policy.from=${checkpoint}`, 'warmStart.demonstrations=0']
}

function alsoInContainers({ task }: Containers): readonly string[] {
  return [
    'tasks.0.weight=3',
    `tasks.1.turnLimit=${turnLimit}`,
    ...Object.entries(task).map(([key, value]) => `tasks.1.${key}=${value}`),
  ]
}
