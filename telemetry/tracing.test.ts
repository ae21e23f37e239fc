import { describe, expect, it } from 'vitest'
import type { FinishedWork } from './observation.ts'
import { shapesOf, wantsTraces } from './tracing.ts'
import { workOfActivity, workOfWorkflow } from './work.ts'

const episode = 'demo/g3/s0/a0'

function activity(
  name: string,
  argument: object,
  times: readonly [number, number],
  result?: object,
): FinishedWork {
  const [startedAt, endedAt] = times
  const work = workOfActivity(episode, argument)
  return {
    kind: 'activity',
    name,
    workflowId: episode,
    work,
    argument,
    result,
    attempt: 1,
    startedAt,
    endedAt,
  }
}

function ended(workflowId: string, name: string): FinishedWork {
  const work = workOfWorkflow(workflowId)
  return { kind: 'workflow', name, workflowId, work, argument: {}, attempt: 1, startedAt: 0, endedAt: 9 }
}

describe('the spans of what was done', () => {
  it('hang on each other by the identities of the work', () => {
    const parents = [
      ended('demo', 'trainingRun'),
      ended('demo/g3', 'rolloutGroup'),
      ended(episode, 'episode'),
      ended('demo/e-held_out-v2-1', 'evaluation'),
      ended('demo/e-held_out-v2-1/s4/a1', 'episode'),
      ended('demo/schedule-nightly/at-2026-01-01T00:00:00Z', 'scheduledEvaluation'),
    ].map((finished) => shapesOf(finished, new Map())[0]?.parent)
    expect(parents).toEqual([undefined, 'demo', 'demo/g3', 'demo', 'demo/e-held_out-v2-1', 'demo'])
  })

  it('a turn reaches from the step before it to its own step', () => {
    const starts = new Map<string, number>()
    shapesOf(activity('openEnvironment', {}, [0, 10]), starts)
    const [sample] = shapesOf(activity('sampleAction', { turn: 0 }, [12, 30], { tokens: 7 }), starts)
    const [step, turn] = shapesOf(activity('stepEnvironment', { turn: 0 }, [31, 40], { reward: 1 }), starts)
    expect(turn).toMatchObject({ name: 'turn', startedAt: 10, endedAt: 40, parent: episode })
    expect([sample?.parent, step?.parent]).toEqual([turn?.own, turn?.own])
    expect(sample?.attributes).toMatchObject({
      'perdure.tokens': 7,
      'perdure.turn': 0,
      'perdure.group': 'demo/g3',
    })
    const [, next] = shapesOf(activity('stepEnvironment', { turn: 1 }, [50, 60]), starts)
    expect(next).toMatchObject({ startedAt: 40, endedAt: 60 })
  })

  it('a turn that another worker began starts with what is known of it', () => {
    const [, turn] = shapesOf(activity('stepEnvironment', { turn: 5 }, [50, 60]), new Map())
    expect(turn).toMatchObject({ name: 'turn', startedAt: 50 })
  })

  it('an attempt that failed has a span of its own and ends no turn', () => {
    const failure = { name: 'EnvironmentFault', message: 'gone' }
    const failed = { ...activity('stepEnvironment', { turn: 0 }, [1, 2]), failure }
    const first = shapesOf(failed, new Map())
    const second = shapesOf({ ...activity('stepEnvironment', { turn: 0 }, [3, 4]), attempt: 2 }, new Map())
    expect(first).toHaveLength(1)
    expect(first[0]).toMatchObject({ failure })
    expect(second[0]?.own).not.toBe(first[0]?.own)
  })

  it('nothing is kept of an episode that was closed', () => {
    const starts = new Map<string, number>()
    shapesOf(activity('openEnvironment', {}, [0, 10]), starts)
    shapesOf(activity('closeEnvironment', {}, [20, 30]), starts)
    expect(starts.size).toBe(0)
  })
})

describe('traces', () => {
  it('are sent only where the environment names a receiver', () => {
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' }
    expect(wantsTraces({})).toBe(false)
    expect(wantsTraces(endpoint)).toBe(true)
    expect(wantsTraces({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:4318/v1/traces' })).toBe(true)
    expect(wantsTraces({ ...endpoint, OTEL_SDK_DISABLED: 'true' })).toBe(false)
    expect(wantsTraces({ ...endpoint, OTEL_TRACES_EXPORTER: 'none' })).toBe(false)
  })
})
