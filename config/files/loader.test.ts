/** Loader, overrides and the checks between fields. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ConfigInput } from '../schema/schema.ts'
import { ConfigFault } from './fault.ts'
import { loadConfig, parseConfig, resolveConfig } from './loader.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-config-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function fileWith(text: string): string {
  const file = join(folder, 'run.yaml')
  writeFileSync(file, text)
  return file
}

function faultOf(source: Parameters<typeof loadConfig>[0]): ConfigFault {
  try {
    loadConfig(source)
  } catch (error) {
    if (error instanceof ConfigFault) return error
    throw error
  }
  throw new Error('the configuration was accepted')
}

describe('what comes back has passed the schema', () => {
  test('an empty configuration is a valid one', () => {
    expect(loadConfig({})).toEqual(parseConfig({}))
    expect(loadConfig({ file: fileWith('') })).toEqual(loadConfig({}))
  })

  test('a resolved configuration is plain JSON and resolves to itself', () => {
    const config = loadConfig({ set: ['tasks.0.settings.difficulty=easy', 'rollout.quorum=4'] })
    expect(parseConfig(JSON.parse(JSON.stringify(config)))).toEqual(config)
  })

  test('a key without a value takes its default', () => {
    const file = fileWith('rollout:\n  # groupSize: 4\ntraining:\n  updates:\ntasks:\n  -\n')
    expect(loadConfig({ file })).toEqual(loadConfig({}))
  })

  test('a value of --set wins over the file, a later one over an earlier one', () => {
    const file = fileWith('training: { updates: 7 }\nrollout: { groupSize: 4 }\n')
    const config = loadConfig({ file, set: ['training.updates=8', 'training.updates=9'] })
    expect([config.training.updates, config.rollout.groupSize]).toEqual([9, 4])
  })
})

describe('a file is text by the rule of all text files', () => {
  const text = 'rollout:\n  groupSize: 4\ntraining: { updates: 7 }\n'
  test.each([
    ['CRLF', Buffer.from(text.replaceAll('\n', '\r\n'))],
    ['a lone CR', Buffer.from(text.replaceAll('\n', '\r'))],
    ['a byte order mark', Buffer.from(`\ufeff${text}`)],
    ['UTF-16', Buffer.from(`\ufeff${text}`, 'utf16le')],
  ])('%s is read', (_, bytes) => {
    const file = fileWith('')
    writeFileSync(file, bytes)
    expect(loadConfig({ file })).toEqual(loadConfig({ file: fileWith(text) }))
  })

  test.each([
    ['a NUL', Buffer.from('seed: 1\nrun: a\0b\n'), 'line 2: a NUL'],
    ['bytes that are no UTF-8', Buffer.from('seed: 1 # \xe9\n', 'latin1'), 'line 1: bytes that are no UTF-8'],
  ])('%s is named with its line', (_, bytes, place) => {
    const file = fileWith('')
    writeFileSync(file, bytes)
    expect(faultOf({ file }).message).toContain(`${file}, ${place}`)
  })

  test('a merge key is named, and a quoted one is a key like others', () => {
    const merged = 'base: &base { groupSize: 4 }\nrollout:\n  <<: *base\n'
    const { problems } = faultOf({ file: fileWith(merged) })
    expect(problems).toMatchObject([{ key: 'rollout', where: expect.stringMatching(/:3:3$/) }])
    expect(problems[0]?.message).toContain('no merge keys')
    expect(faultOf({ file: fileWith('"<<": 1\n') }).problems[0]?.message).not.toContain('merge')
  })
})

describe('a problem names its key, its value, what is allowed, and where it came from', () => {
  test('a wrong type in a file is named with its line', () => {
    const fault = faultOf({ file: fileWith('seed: 1\nrollout:\n  groupSize: many\n') })
    expect(fault.problems[0]).toMatchObject({
      key: 'rollout.groupSize',
      value: '"many"',
      allowed: 'integer from 2 to 1024',
      where: `${join(folder, 'run.yaml')}:3`,
    })
  })

  test('an unknown key comes with the nearest key that exists, and its line', () => {
    const { message } = faultOf({ file: fileWith('rollout:\n  groupsize: 4\n') })
    expect(message).toContain('run.yaml:2: unknown key `rollout.groupsize`')
    expect(message).toContain('nearest known key is `rollout.groupSize`')
  })

  test('a value outside of a choice is answered with the choices', () => {
    const { message } = faultOf({ set: ['crossPolicy.weighting=fair'] })
    expect(message).toBe(
      '--set crossPolicy.weighting=fair: `crossPolicy.weighting` is "fair": expected one of equal, adaptive',
    )
  })

  test('every problem of a configuration is reported at once, each with its key', () => {
    const fault = faultOf({ file: fileWith('seed: x\npolcy: {}\ntraining: { updates: 1.5 }\n') })
    expect(fault.problems.map(({ key }) => key).sort()).toEqual(['polcy', 'seed', 'training.updates'])
  })

  test('broken YAML is named with line and column', () => {
    const fault = faultOf({ file: fileWith('seed: 1\ntasks: [\n') })
    expect([fault.kind, fault.message]).toEqual([
      'bad_syntax',
      expect.stringMatching(/run\.yaml:3:\d+: not valid YAML/),
    ])
  })

  // [TREE-1] [TREE-2]
  test.each([
    ['contains itself as a section', 'seed: 1\nrollout: &a\n  groupSize: *a\n', 'rollout.groupSize', 3],
    ['contains itself in settings', 'tasks:\n  - settings: &s\n      x: [*s]\n', 'tasks.0.settings.x.0', 3],
    ['contains itself as a list', 'seed: 1\ntasks: &t\n  - *t\n', 'tasks.0', 3],
    ['is a whole that contains itself', '&a\nseed: 1\nrollout: *a\n', 'rollout', 3],
    [
      'repeats without measure',
      `seed: 1\na: &a [1]\n${[...'bcdefgh'].map((name, index) => `${name}: &${name} [${Array(9).fill(`*${'abcdefg'[index]}`).join(',')}]`).join('\n')}`,
      'f.',
      7,
    ],
    ['is nested too deep', `seed: 1\nrollout: ${'{a: '.repeat(70)}1${'}'.repeat(70)}\n`, 'rollout.a.a.a', 2],
    ['names no anchor', 'seed: 1\ntasks: *none\n', 'tasks', 2],
    ['is NaN', 'learning:\n  clipLow: .nan\n', 'learning.clipLow', 2],
    ['is infinite', 'seed: 1\nlearning: { clipLow: 1e400 }\n', 'learning.clipLow', 2],
    ['is infinite in settings', 'tasks:\n  - settings:\n      x: -.inf\n', 'tasks.0.settings.x', 3],
    ['is a key that is a number', 'seed: 1\n2: 3\n', '2', 2],
    ['is a key that is a list', 'seed: 1\n? [a]\n: 1\n', '', 2],
    [
      'is a key that every object has',
      'tasks:\n  - settings: { __proto__: { x: 1 } }\n',
      'tasks.settings',
      2,
    ],
  ])('what %s is named with its key and its line', (_, text, key, line) => {
    const [problem, ...others] = faultOf({ file: fileWith(text) }).problems
    expect(others).toEqual([])
    expect(problem?.key.startsWith(key)).toBe(true)
    expect(problem?.where).toMatch(new RegExp(`run\\.yaml:${line}(:\\d+)?$`))
    if (key !== '') expect(problem?.message).toContain(`\`${key}`)
  })

  test('a program that gives what contains itself, or no finite number, hears of the key', () => {
    const settings: Record<string, unknown> = {}
    settings.x = { settings }
    const faults = [{ tasks: [{ settings }] }, { learning: { clipLow: Number.NaN } }].map((given) => {
      try {
        return resolveConfig(given as ConfigInput)
      } catch (error) {
        return error
      }
    })
    expect(faults).toMatchObject([{ key: 'tasks.0.settings.x.settings' }, { key: 'learning.clipLow' }])
  })

  test('a file that is missing or holds no keys is named', () => {
    expect(faultOf({ file: join(folder, 'none.yaml') }).kind).toBe('unreadable_file')
    expect(faultOf({ file: fileWith('- 1\n') }).message).toContain('keys with values')
  })

  test.each([
    ['rollout.quorum=9', 'rollout.quorum', 'at most rollout.groupSize (8)'],
    ['rollout.maxTokensPerTurn=1024', 'rollout.maxTokensPerTurn', 'less than policy.contextLength (1024)'],
    ['warmStart.demonstrations=3', 'warmStart.chunks', 'at most warmStart.demonstrations (3)'],
    ['warmStart.corrections=4', 'warmStart.corrections', 'less than warmStart.chunks (4)'],
    [
      'learning.algorithm=epo',
      'learning.entropyCoefficient',
      'more than 0, or learning.entropyTarget, for `epo`',
    ],
    ['policy.heads=3', 'policy.hiddenSize', 'a multiple of 2 × policy.heads (6)'],
    ['policy.keyValueHeads=3', 'policy.keyValueHeads', 'a divisor of policy.heads (4)'],
    ['tasks=[{}, {}]', 'tasks.1.task', 'each task only once'],
    ['tasks=[{weight: 0}]', 'tasks.0.weight', 'a positive weight for at least one task'],
    ['evaluation.suites=[{}, {}]', 'evaluation.suites.1.name', 'a name of its own'],
    ['evaluation.suites.0.task=db', 'evaluation.suites.0.task', '`tasks` lists: alfworld'],
  ])('fields that must fit each other are checked together: %s', (set, key, allowed) => {
    const problem = faultOf({ set: [set] }).problems.find((each) => each.key === key)
    expect(problem?.allowed).toContain(allowed)
  })

  test("a checkpoint's own shape replaces the fields of the policy", () => {
    expect(loadConfig({ set: ['policy.from=/model', 'policy.heads=3'] }).policy.from).toBe('/model')
  })
})

describe('--set', () => {
  test('values are read as YAML', () => {
    const { tasks } = loadConfig({
      set: ['tasks.0.settings.a=[1, x]', 'tasks.0.settings.b="3"', 'tasks.0.settings.c={d: true}'],
    })
    expect(tasks[0]?.settings).toEqual({ a: [1, 'x'], b: '3', c: { d: true } })
  })

  test('an empty value puts the default back', () => {
    const file = fileWith('rollout: { groupSize: 4 }\n')
    expect(loadConfig({ file, set: ['rollout.groupSize='] }).rollout.groupSize).toBe(8)
  })

  test('an index may name an entry or the one after the last, never leave a gap', () => {
    const suites = ['evaluation.suites.0.name=a', 'evaluation.suites.1.name=b']
    expect(loadConfig({ set: suites }).evaluation.suites.map(({ name }) => name)).toEqual(['a', 'b'])
    expect(faultOf({ set: ['tasks.1.weight=2'] }).message).toContain('an index from 0 to 0 in `tasks`')
  })

  test.each(['seed', '=3', '.a=1', 'a..b=1', '__proto__.x=1', 'seed=[1', 'seed=&a [*a]', 'seed=*a'])(
    '%s is no KEY=VALUE',
    (set) => {
      expect(faultOf({ set: [set] }).kind).toBe('bad_override')
    },
  )

  test.each(['.nan', '.inf', '1e400'])('the value %s is named as it was read', (value) => {
    const { message } = faultOf({ set: [`learning.clipLow=${value}`] })
    expect(message).toMatch(/`learning.clipLow` is (NaN|Infinity): expected number above 0, at most 1/)
  })

  test('no override reaches beyond its own tree', () => {
    faultOf({ set: ['constructor.prototype.polluted=1'] })
    expect(Reflect.get({}, 'polluted')).toBeUndefined()
  })

  test('any text either sets something or is a ConfigFault', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 40 }), (text) => {
        try {
          loadConfig({ set: [text] })
        } catch (error) {
          expect(error).toBeInstanceOf(ConfigFault)
        }
      }),
    )
  })
})
