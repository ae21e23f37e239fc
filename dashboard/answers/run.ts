/** One run: all that is said of it beside its curves. */
import { stat } from 'node:fs/promises'
import { changesBetween } from '../../config/changes.ts'
import { inHome } from '../../config/files/home-paths.ts'
import { configFields } from '../../config/schema/fields.ts'
import { configSchema, type RunConfig } from '../../config/schema/schema.ts'
import { inSuiteOrder } from '../../config/suite-order.ts'
import { gatesInForce } from '../../contract/training-state.ts'
import { judgedFigure, judgedFigures } from '../../learning/evaluation/judgement.ts'
import { failingWords, leftOutWords } from '../../learning/run/failing-words.ts'
import { standstillWords } from '../../learning/run/learning-signal.ts'
import { stepOfVersion } from '../../learning/run/version-step.ts'
import { redact } from '../../machine/secrets/secret.ts'
import type { JsonObject } from '../../messages/message.ts'
import { readPromotion } from '../../policy/checkpoints/promotion.ts'
import { publishedVersions } from '../../policy/checkpoints/versions.ts'
import { bytesAt } from '../../storage/disk/disk-use.ts'
import type { AuditEntry } from '../../storage/records/audit.ts'
import type { StoredEvaluation, SuiteFigures } from '../../storage/records/evaluations.ts'
import { settingsNow } from '../../workflows/state/live-settings.ts'
import type { EvaluationRow, EvaluationsAnswer, GateRow } from '../contract/evaluation.ts'
import type { AuditMark, Difference, RunAnswer, RunConfiguration, VersionRow } from '../contract/run.ts'
import type { ShownHome } from '../home/shown-home.ts'
import { knownRun, type ShownRun } from './known-run.ts'
import { estimateOf, type RunRows } from './runs.ts'

/** @throws Refused `unknown` */
export async function runAnswer(shown: ShownHome, rows: RunRows, name: string): Promise<RunAnswer> {
  const { home, store } = shown
  const run = await knownRun(shown, name)
  const { id, state } = run
  const disk = await rows.disk(run)
  const row = await rows.row(run)
  const stored = row.status === 'running' ? await store.failing.list(id, Date.now()) : []
  const leftOut = state.leftOut !== undefined && state.leftOut.count > 0 ? [leftOutWords(state.leftOut)] : []
  const failing = [...stored.map(failingWords), ...leftOut]
  return {
    ...row,
    ...(failing.length === 0 ? {} : { failing }),
    directory: home.run(id).dir,
    tokens: state.tokens,
    outcomes: await store.episodes.count(id),
    emptyUpdates: state.emptyUpdates,
    ...(state.nothingLearnt === null ? {} : { standstill: standstillWords(state.nothingLearnt) }),
    versions: await versionsOf(shown, run),
    configuration: configurationOf(shown, run),
    audit: await auditOf(shown, run),
    disk: {
      trajectories: disk.trajectories,
      checkpoints: disk.checkpoints,
      batches: disk.batches,
      metrics: await bytesAt(home.run(id).metricsFile),
    },
    ...shown.temporalPage(id),
  }
}

async function versionsOf({ home }: ShownHome, { id }: ShownRun): Promise<readonly VersionRow[]> {
  const directory = home.run(id)
  const promoted = (await readPromotion(directory.checkpointsDir))?.version
  const rows = (await publishedVersions(directory.checkpointsDir)).map(async (version) => {
    const folder = directory.checkpointDir(version)
    // Retention may remove it while it is looked at.
    const time = await stat(folder).then(
      ({ mtimeMs }) => mtimeMs,
      () => 0,
    )
    return { version, bytes: await bytesAt(folder), time, promoted: version === promoted }
  })
  return Promise.all(rows)
}

function configurationOf({ home }: ShownHome, { config, state }: ShownRun): RunConfiguration {
  const placed = inHome(config, home.dir)
  const descriptions = new Map(configFields().map(({ key, description }) => [key, description]))
  return {
    values: redacted(placed) as JsonObject,
    differences: redacted(differencesOf(placed)) as readonly Difference[],
    live: settingsNow(state).map((setting) => ({
      ...setting,
      description: descriptions.get(setting.key.replace(/\.\d+\./, '.N.')) ?? '',
    })),
  }
}

/** A configuration has references to secrets alone; what this process has read of them is taken out all the same. */
function redacted(value: unknown): unknown {
  return JSON.parse(redact(JSON.stringify(value)))
}

/** Where a configuration is not the default; each task and suite is compared with the default of one. */
function differencesOf(config: RunConfig): readonly Difference[] {
  const plain = configSchema.parse({})
  const [task, suite] = [plain.tasks[0], plain.evaluation.suites[0]]
  const likewise: RunConfig = {
    ...plain,
    tasks: task === undefined ? [] : config.tasks.map(() => task),
    evaluation: {
      ...plain.evaluation,
      suites: suite === undefined ? [] : config.evaluation.suites.map(() => suite),
    },
  }
  return changesBetween(likewise, config).map(({ key, from, to }) => ({ key, default: from, value: to }))
}

async function auditOf({ store }: ShownHome, { id, trail }: ShownRun): Promise<readonly AuditMark[]> {
  if (trail.length === 0) return []
  const times = (await store.updates.list(id)).map(({ created }) => created)
  return trail.map((entry: AuditEntry) => ({
    ...entry,
    step: times.filter((time) => time <= entry.time).length,
  }))
}

/** @throws Refused `unknown` */
export async function evaluationsAnswer(shown: ShownHome, name: string): Promise<EvaluationsAnswer> {
  const { store } = shown
  const run = await knownRun(shown, name)
  const updates = await store.updates.list(run.id)
  const listed = inSuiteOrder(run.config, await store.evaluations.list(run.id))
  const evaluations = listed.map((stored) => rowOf(stored, stepOfVersion(updates, stored.version)))
  const experts = (await store.experts.list(run.id)).map(({ suite, success, n }) => ({
    suite,
    success: estimateOf({ success, n }),
    n,
  }))
  return { evaluations, experts, gates: gatesOf(run) }
}

function rowOf(stored: StoredEvaluation, step: number): EvaluationRow {
  const { id, suite, version, seed, created, result, failure } = stored
  const row = { id, suite, version, step, seed, created, ...(failure === undefined ? {} : { failure }) }
  if (result === undefined) return row
  const { success, n, planned, lost, ended, statistics } = result
  const figures: SuiteFigures = statistics
  const measured = judgedFigure(figures.judgedBy ?? 'success', figures.measures)
  return {
    ...row,
    ended,
    found: {
      // Wilson's interval follows from n; it is stored too where instances have several samples.
      success: estimateOf({ success, n, interval: figures.passAt && figures.interval }),
      n,
      planned,
      lost,
      instances: figures.instances ?? n,
      ...(measured === undefined ? {} : { measured }),
      means: judgedFigures(figures.measures),
      passAt: figures.passAtIntervals ?? {},
    },
  }
}

function gatesOf({ state, trail }: ShownRun): readonly GateRow[] {
  return gatesInForce(state).map((gate) => ({
    ...gate,
    closed: trail
      .filter(({ by, what }) => by === `gate ${gate.suite}` && what === gate.action)
      .map(({ time, version, what, reason }) => ({ time, version, what, reason: reason ?? '' })),
  }))
}
