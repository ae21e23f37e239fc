/** An order may set the values that a configuration may hold; other values get the same message from both. */
import { describe, expect, it } from 'vitest'
import { ConfigFault } from '../../config/files/fault.ts'
import { resolveConfig } from '../../config/files/loader.ts'
import type { ConfigInput } from '../../config/schema/schema.ts'
import { initialState } from '../../contract/training-state.ts'
import { runId } from '../../identity/identity.ts'
import type { Bounds } from '../../learning/run/bounds.ts'
import { liveSettings } from '../../learning/run/live-settings.ts'
import { objectionTo } from './live-settings.ts'

const state = initialState(
  runId('probe'),
  resolveConfig({ tasks: [{ task: 'kg' }, { task: 'os' }], evaluation: evaluationWith({}) }),
  0,
)

function evaluationWith(gate: { readonly [field: string]: number }) {
  const measure = { of: 'reward' }
  return { suites: [{ name: 'few', task: 'kg', measure }], gates: [{ suite: 'few', ...gate }] }
}

/** The next number that a double can hold, upwards or downwards. */
function beside(value: number, up: boolean): number {
  if (value === 0) return up ? Number.MIN_VALUE : -Number.MIN_VALUE
  const bits = new BigInt64Array(new Float64Array([value]).buffer)
  bits[0] = (bits[0] ?? 0n) + (up === value > 0 ? 1n : -1n)
  return new Float64Array(bits.buffer)[0] ?? Number.NaN
}

/** At both bounds, just beyond and just within; and what is no number of the kind. */
function probesOf({ whole, atLeast, above, atMost, below }: Bounds): readonly number[] {
  const ends = [atLeast, above, atMost, below].filter((end) => end !== undefined)
  return [
    ...ends.flatMap((end) => [end, beside(end, true), beside(end, false), end + 1, end - 1]),
    ...ends.flatMap((end) => [end / 2, end * 2]),
    ...(whole === true ? [0.5, 1.5, Number.MAX_SAFE_INTEGER + 1] : []),
    Number.NaN,
    Number.POSITIVE_INFINITY,
  ]
}

function configWith(key: string, value: number): ConfigInput {
  const [section = '', name = '', field = '', part = ''] = key.split('.')
  const tasks = [{ task: 'kg' }, { task: 'os' }]
  if (section === 'evaluation') return { tasks, evaluation: evaluationWith({ [part]: value }) }
  const evaluation = { suites: [] }
  if (section === 'tasks') return { tasks: [{ task: 'kg', [field]: value }, { task: 'os' }], evaluation }
  return { evaluation, [section]: { [name]: value } }
}

/** The configuration's message about the value; undefined where it is valid. */
function configMessage(key: string, value: number): string | undefined {
  try {
    resolveConfig(configWith(key, value))
    return undefined
  } catch (error) {
    if (!(error instanceof ConfigFault)) throw error
    // How many groups a run may carry is another rule than the bounds of one key.
    return error.key === key ? error.message : undefined
  }
}

const probes = Object.entries(liveSettings).flatMap(([key, { schema }]) =>
  probesOf(schema).map((value) => [key.replace('N', '0'), value] as const),
)

describe('a live setting', () => {
  it.each(probes)('%s = %d is refused with the words of a configuration, or taken as there', (key, value) => {
    const words = objectionTo(state, { [key]: value })
    const isOfSize = words?.includes('a run carries') ?? false
    // Groups in flight may be none live, where a configuration leaves the key out.
    const expected = configMessage(key, value)
    if (isOfSize) expect(expected).toBeUndefined()
    else expect(words?.replace(', or none', '')).toBe(expected)
  })

  it('a drop is at least 0, of success below 1: as in a configuration', () => {
    const evaluation = { suites: [{ name: 'few', task: 'kg' }], gates: [{ suite: 'few' }] }
    const config = resolveConfig({ tasks: [{ task: 'kg' }], evaluation })
    const bySuccess = initialState(runId('probe'), config, 0)
    const key = 'evaluation.gates.0.drop'
    const words = objectionTo(bySuccess, { [key]: 1 })
    expect(words).toContain('expected number at least 0, below 1')
    const gates = [{ suite: 'few', drop: 1 }]
    expect(() => resolveConfig({ tasks: [{ task: 'kg' }], evaluation: { ...evaluation, gates } })).toThrow(
      words,
    )
    expect(objectionTo(state, { [key]: 1 })).toBeUndefined()
  })

  // [LIVE-SETTINGS-1]
  it('is a row of the table that the schema is built from, each of them', () => {
    const [, known = ''] = /these can: (.*)/.exec(objectionTo(state, { seed: 1 }) ?? '') ?? []
    const keys = new Set(known.split(', ').map((key) => key.replace(/\d/, 'N')))
    expect([...keys].sort()).toEqual(Object.keys(liveSettings).sort())
  })

  it.each([
    ['learning.entropyCoefficient', 50, '`learning.entropyCoefficient` is 50: expected number from 0 to 10'],
    ['learning.learningRate', 0, '`learning.learningRate` is 0: expected number above 0, at most 1'],
    ['learning.clipLow', 0, '`learning.clipLow` is 0: expected number above 0, at most 1'],
    ['learning.clipHigh', 0, '`learning.clipHigh` is 0: expected number above 0, at most 100'],
    ['learning.gradientClip', 1e-10, undefined],
    ['learning.dualClip', 1.00005, undefined],
    ['rollout.groupsInFlight', 0, '`rollout.groupsInFlight` is 0: expected integer from 1 to 65536, or none'],
    ['rollout.groupsInFlight', null, undefined],
    ['learning.clipLow', null, '`learning.clipLow` is null: expected number above 0, at most 1'],
  ])('%s = %s is answered with: %3$s', (key, value, message) => {
    expect(objectionTo(state, { [key]: value })).toBe(message)
  })

  it('leaves some task a weight above 0, said as of a configuration', () => {
    expect(objectionTo(state, { 'tasks.0.weight': 0, 'tasks.1.weight': 0 })).toBe(
      '`tasks.0.weight` is 0: expected a positive weight for at least one task',
    )
  })
})
