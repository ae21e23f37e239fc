/**
 * Telemetry of a training session: it listens before anything else is opened, and reads runs once they are known.
 *
 * Invariants
 * - A port that is taken ends the session before a server or a worker is started for it.
 * - Until it has a source it says that there are no runs.
 */

import type { RunProgress } from '../../contract/messages.ts'
import { runId } from '../../identity/identity.ts'
import type { Store } from '../../storage/store.ts'
import { type MetricsPlace, portForSdk, startTelemetry, type Telemetry } from '../../telemetry/telemetry.ts'
import { sdkMetricsPort } from '../../temporal/runtime.ts'
import type { Role } from '../../workers/role-worker-options.ts'
import type { OwnProgress } from '../run/run-progress.ts'
import type { StoredRuns } from '../run/stored-runs.ts'

/** Source of the figures of the home's runs. */
export interface TelemetrySource {
  readonly parts: Pick<StoredRuns, 'running'> & { readonly store: Store }
  readonly ownProgress: OwnProgress
}

export interface SessionTelemetry extends Pick<Telemetry, 'observers'>, AsyncDisposable {
  /** Where the SDK is to serve its own metrics; undefined where no metrics are asked for. */
  readonly sdkPort: number | undefined
  readFrom(source: TelemetrySource): void
}

interface SessionTelemetryOptions {
  readonly metrics?: MetricsPlace | undefined
  readonly roles: readonly Role[]
  readonly log: (line: string) => void
}

/** @throws ListeningFault */
export async function openSessionTelemetry(options: SessionTelemetryOptions): Promise<SessionTelemetry> {
  const { metrics, roles, log } = options
  const sdkPort = sdkMetricsPort() ?? (await portForSdk(metrics))
  let source: TelemetrySource | undefined
  const telemetry = await startTelemetry(
    {
      metrics,
      roles,
      log,
      readProgress: async () =>
        source !== undefined && roles.includes('orchestrator') ? progressOfRunning(source) : [],
      createdOf: async (run) => (await source?.parts.store.runs.get(runId(run)))?.created,
    },
    sdkPort,
  )
  return {
    observers: telemetry.observers,
    sdkPort,
    readFrom(given) {
      source = given
    },
    [Symbol.asyncDispose]: () => telemetry.close(),
  }
}

/** Progress of the runs that have not ended; a run that does not answer is left out. */
async function progressOfRunning({ parts, ownProgress }: TelemetrySource): Promise<readonly RunProgress[]> {
  const asked = await Promise.allSettled((await parts.running()).map(({ run }) => ownProgress(run)))
  return asked.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
}
