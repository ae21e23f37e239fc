/**
 * A run in a file store of MLflow.
 *
 * Invariants
 * - [FILE-STORE-1] A metric is a file of lines `time value step`, a parameter and a tag a file with its text.
 * - [FILE-STORE-2] Names have no sign that MLflow refuses, and none leads out of its folder.
 */

import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { allowedName, experimentName, parametersOf } from './mlflow-server.ts'
import { type TrackedRun, type TrackerFile, trackedId } from './tracked-run.ts'

/** As MLflow numbers experiments, in digits. Always the same, so that all runs of a store are in one. */
const experimentId = String(
  createHash('sha256').update(experimentName).digest().readUIntBE(0, 6) + 100_000_000_000_000_000,
)

/** As the numbers of MLflow's states. */
const states = { running: 1, done: 3, failed: 4, stopped: 5 } as const

export function mlflowFiles(run: TrackedRun, folder: string): readonly TrackerFile[] {
  const { id: name, created, status, ended, config, rows } = run
  // MLflow takes a folder for a run only where it has metrics.
  if (rows.length === 0) return []
  const id = trackedId(run)
  const lines = new Map<string, string>()
  for (const { step, time, scalars } of rows)
    for (const [scalar, value] of scalars) {
      const path = allowedName(scalar)
      lines.set(path, `${lines.get(path) ?? ''}${time} ${value} ${step}\n`)
    }
  const place = join(folder, experimentId)
  const ofRun = (path: string, text: string) => ({
    path: `${experimentId}/${id}/${path}`,
    content: Buffer.from(text),
  })
  return [
    {
      path: `${experimentId}/meta.yaml`,
      content: Buffer.from(
        yamlOf({
          artifact_location: place,
          creation_time: created,
          experiment_id: experimentId,
          last_update_time: created,
          lifecycle_stage: 'active',
          name: experimentName,
        }),
      ),
      shared: true,
    },
    ...[...lines].map(([path, text]) => ofRun(`metrics/${path}`, text)),
    ...parametersOf(config).map(([key, text]) => ofRun(`params/${allowedName(key)}`, text)),
    ofRun('tags/mlflow.runName', name),
    ofRun('artifacts/config.json', `${JSON.stringify(config, null, 2)}\n`),
    // The last one: a run without it is none for MLflow.
    ofRun(
      'meta.yaml',
      yamlOf({
        artifact_uri: join(place, id, 'artifacts'),
        end_time: ended ?? null,
        entry_point_name: '',
        experiment_id: experimentId,
        lifecycle_stage: 'active',
        run_id: id,
        run_name: name,
        source_name: '',
        source_type: 4,
        source_version: '',
        start_time: created,
        status: states[status],
        tags: [],
        user_id: '',
      }),
    ),
  ]
}

/** JSON's values are YAML's too. */
function yamlOf(values: Readonly<Record<string, unknown>>): string {
  return Object.entries(values)
    .map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`)
    .join('')
}
