/**
 * Tracing: one trace per run, from the run through group and episode to the turn, and to its updates.
 *
 * Spans are named by identities, as all work is: the ids of a span and of its parent are digests of the work's own ids.
 * So nothing is passed along in headers, histories stay as they are, and whatever process ends a piece of work can
 * tell its span.
 *
 * Invariants
 * - All processes agree on the ids of a run's trace without talking to each other.
 * - A span is sent when its work ends; work that is done again after a crash has a span per attempt.
 * - Nothing of this is loaded unless OTEL_EXPORTER_OTLP_ENDPOINT (or …_TRACES_ENDPOINT) is set.
 * - A receiver that is away costs spans, never work: the queue is bounded.
 */
import { createHash } from 'node:crypto'
import type { Attributes, HrTime } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import { redact } from '../machine/secrets/secret.ts'
import { type FinishedWork, fieldOf, type Observer } from './observation.ts'

export interface Tracing {
  readonly observe: Observer
  /** Sends what is left. */
  close(): Promise<void>
}

export interface TracingOptions {
  /** Tells runs of one name in different homes apart: the time at which the run was created. */
  readonly createdOf: (run: string) => Promise<number | undefined>
  /** Roles of this process. */
  readonly roles: readonly string[]
}

/** A long run has millions of turns; this share of its groups, by their names, is traced with its episodes. */
const shareVariable = 'PERDURE_TRACED_GROUPS'

/** Whether the environment asks for traces. */
export function wantsTraces(environment: NodeJS.ProcessEnv = process.env): boolean {
  if (environment.OTEL_SDK_DISABLED === 'true' || environment.OTEL_TRACES_EXPORTER === 'none') return false
  const { OTEL_EXPORTER_OTLP_ENDPOINT: all, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: traces } = environment
  return (all ?? '') !== '' || (traces ?? '') !== ''
}

/** Sends spans to the receiver that the environment names, by OTLP over HTTP. */
export async function startTracing({ createdOf, roles }: TracingOptions): Promise<Tracing> {
  const { BatchSpanProcessor } = await import('@opentelemetry/sdk-trace')
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-http')
  const { resourceFromAttributes, detectResources, envDetector } = await import('@opentelemetry/resources')
  const processor = new BatchSpanProcessor({ exporter: new OTLPTraceExporter(), maxQueueSize: 16_384 })
  const resource = resourceFromAttributes({
    'service.name': 'perdure',
    'service.instance.id': `${process.pid}`,
    'perdure.roles': [...roles],
  }).merge(detectResources({ detectors: [envDetector] }))
  const scope = { name: 'perdure' }
  const share = Number(process.env[shareVariable] ?? 1)
  const turnStarts = new Map<string, number>()
  const keys = new Map<string, Promise<string>>()
  const pending = new Set<Promise<void>>()

  function keyOf(run: string): Promise<string> {
    const known = keys.get(run)
    if (known !== undefined) return known
    const asking = createdOf(run).then((created) => `${run} ${created ?? 0}`)
    keys.set(run, asking)
    asking.catch(() => keys.delete(run))
    return asking
  }

  async function send(shape: SpanShape, key: string): Promise<void> {
    processor.onEnd(spanOf(shape, key, resource, scope))
  }

  return {
    observe(finished) {
      const { run } = finished.work
      if (run === undefined || !isTraced(finished, share)) return
      const shapes = shapesOf(finished, turnStarts)
      const sending = keyOf(run)
        .then((key) => Promise.all(shapes.map((shape) => send(shape, key))))
        // A store that does not answer costs spans.
        .then(
          () => undefined,
          () => undefined,
        )
        .finally(() => pending.delete(sending))
      pending.add(sending)
    },
    async close() {
      await Promise.all(pending)
      await processor.shutdown().catch(() => undefined)
    },
  }
}

/** A span before it has ids. */
export interface SpanShape {
  readonly name: string
  /** The text that the id of the span is derived from. */
  readonly own: string
  /** The same text of its parent; undefined for the root. */
  readonly parent: string | undefined
  readonly startedAt: number
  readonly endedAt: number
  readonly attributes: Attributes
  readonly failure?: { readonly name: string; readonly message: string }
  /** Spans that it takes up, e.g. the groups of an update. */
  readonly links?: readonly string[]
}

/** Names of spans that are not called as their activities. */
const spanNames: Readonly<Record<string, string>> = {
  trainingRun: 'run',
  rolloutGroup: 'group',
  sampleAction: 'sample',
  stepEnvironment: 'step',
  openEnvironment: 'open',
  sealTrajectory: 'seal',
  closeEnvironment: 'close',
  updatePolicy: 'update',
  imitateDemonstrations: 'warm start',
  publishVersion: 'publish',
}

/** The spans of something that was done; a step of the environment ends its turn too. */
export function shapesOf(finished: FinishedWork, turnStarts: Map<string, number>): readonly SpanShape[] {
  const { name, workflowId, work, attempt, startedAt, endedAt, failure } = finished
  const common = {
    name: spanNames[name] ?? name,
    startedAt,
    endedAt,
    attributes: attributesOf(finished),
    ...(failure === undefined ? {} : { failure }),
  }
  if (finished.kind === 'workflow') return [{ ...common, own: workflowId, parent: parentOf(workflowId) }]
  const { episode, turn } = work
  if (episode === undefined || turn === undefined) {
    if (episode !== undefined && name === 'openEnvironment') turnStarts.set(episode, endedAt)
    if (episode !== undefined && name === 'closeEnvironment') turnStarts.delete(episode)
    const which = work.step === undefined ? startedAt : work.step
    const links = name === 'updatePolicy' ? groupsOf(finished.argument) : undefined
    const own = `${workflowId} ${name} ${which} ${attempt}`
    return [{ ...common, own, parent: workflowId, ...(links === undefined ? {} : { links }) }]
  }
  const turnKey = `${episode} t${turn}`
  const activity: SpanShape = { ...common, own: `${turnKey} ${name} ${attempt}`, parent: turnKey }
  if (name !== 'stepEnvironment' || failure !== undefined) return [activity]
  // Another worker may have played the turn before.
  const turnStart = turnStarts.get(episode) ?? startedAt
  turnStarts.set(episode, endedAt)
  return [activity, { ...common, name: 'turn', own: turnKey, parent: episode, startedAt: turnStart }]
}

function parentOf(workflowId: string): string | undefined {
  const end = workflowId.search(/\/(s\d+\/a\d+|g\d+|e-[^/]+|schedule-.+)$/)
  return end === -1 ? undefined : workflowId.slice(0, end)
}

function groupsOf(argument: unknown): readonly string[] {
  const groups = fieldOf(argument, 'groups')
  if (!Array.isArray(groups)) return []
  return groups.flatMap((each: unknown) => {
    const group = fieldOf(each, 'group')
    return typeof group === 'string' ? [group] : []
  })
}

/** Figures worth searching for; references and numbers, no texts. */
const shown = [
  'task',
  'split',
  'position',
  'version',
  'tokens',
  'turns',
  'outcome',
  'reward',
  'success',
  'staleness',
]

function attributesOf({ work, argument, result, attempt, kind }: FinishedWork): Attributes {
  const attributes: Record<string, string | number | boolean> = {}
  for (const [name, value] of Object.entries(work)) attributes[`perdure.${name}`] = value
  for (const name of shown) {
    const value =
      fieldOf(result, name) ?? fieldOf(argument, name) ?? fieldOf(fieldOf(argument, 'episode'), name)
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      attributes[`perdure.${name}`] = value
  }
  if (kind === 'activity') attributes['perdure.attempt'] = attempt
  return attributes
}

function isTraced({ work }: FinishedWork, share: number): boolean {
  const of = work.group ?? work.evaluation
  if (of === undefined || !(share < 1)) return true
  return createHash('sha256').update(of).digest().readUInt32BE() / 2 ** 32 < share
}

function spanOf(
  shape: SpanShape,
  key: string,
  resource: ReadableSpan['resource'],
  instrumentationScope: ReadableSpan['instrumentationScope'],
): ReadableSpan {
  const traceId = digest(key, 16)
  const contextOf = (name: string) => ({ traceId, spanId: digest(`${key} ${name}`, 8), traceFlags: 1 })
  const { name, own, parent, startedAt, endedAt, attributes, failure, links = [] } = shape
  const context = contextOf(own)
  return {
    name,
    kind: 0,
    spanContext: () => context,
    ...(parent === undefined ? {} : { parentSpanContext: contextOf(parent) }),
    startTime: timeOf(startedAt),
    endTime: timeOf(endedAt),
    duration: timeOf(Math.max(0, endedAt - startedAt)),
    status:
      failure === undefined
        ? { code: 0 }
        : { code: 2, message: redact(`${failure.name}: ${failure.message}`) },
    attributes,
    links: links.map((group) => ({ context: contextOf(group) })),
    events: [],
    ended: true,
    resource,
    instrumentationScope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  }
}

function digest(text: string, bytes: number): string {
  return createHash('sha256')
    .update(text)
    .digest('hex')
    .slice(0, 2 * bytes)
}

/** Seconds and nanoseconds. */
function timeOf(milliseconds: number): HrTime {
  const seconds = Math.floor(milliseconds / 1000)
  return [seconds, Math.round((milliseconds - seconds * 1000) * 1e6)]
}
