import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadExperiment } from './experiment.ts'

const root = join(import.meta.dirname, '..', '..')
let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-experiment-'))
  mkdirSync(join(folder, 'below'))
  writeFileSync(
    join(folder, 'base.yaml'),
    'learning:\n  learningRate: 0.001\nevaluation:\n  suites:\n    - { name: few, episodes: 10 }\n    - { name: many, episodes: 50 }\n',
  )
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Loads a file of these lines. */
function load(...lines: readonly string[]) {
  const file = join(folder, 'below', 'stated.yaml')
  writeFileSync(file, `${lines.join('\n')}\n`)
  return loadExperiment(file)
}

const whole = ['name: stated', 'base: ../base.yaml', 'seeds: [3, 4, 5]', 'arms:', '  one:', '  two:']

describe('the statement of an experiment', () => {
  it('has an arm for each name, on the base, with what all arms set and what it sets itself', () => {
    const { statement } = load(
      'name: stated',
      'base: ../base.yaml',
      'seeds: [3, 4, 5]',
      'set: { training.updates: 7 }',
      'arms:',
      '  one:',
      '  two: { learning.learningRate: 0.01, training.updates: 9 }',
    )
    const [one, two] = statement.arms
    expect(one?.config).toMatchObject({
      seed: 3,
      learning: { learningRate: 0.001 },
      training: { updates: 7 },
    })
    expect(two?.config).toMatchObject({ learning: { learningRate: 0.01 }, training: { updates: 9 } })
    expect(statement.suites).toEqual(['few', 'many'])
    expect(statement).toEqual(JSON.parse(JSON.stringify(statement)))
  })

  it('has claims with the version that counts, on all suites unless it names one', () => {
    const { statement } = load(
      ...whole,
      'hypotheses:',
      '  - { better: two, than: one, on: many, by: 0.1 }',
      '  - { name: learns, better: two, than: two@first }',
    )
    expect(statement.hypotheses).toEqual([
      {
        name: 'two over one',
        better: { arm: 'two', version: 'last' },
        than: { arm: 'one', version: 'last' },
        by: 0.1,
        on: ['many'],
      },
      {
        name: 'learns',
        better: { arm: 'two', version: 'last' },
        than: { arm: 'two', version: 'first' },
        by: 0,
        on: ['few', 'many'],
      },
    ])
  })

  it('has claims that arms are level, and a pilot', () => {
    const { statement, pilot } = load(
      ...whole,
      'pilot: ../reports/first.json',
      'hypotheses:',
      '  - { better: two, than: one, equivalent: { within: 0.02 }, on: many }',
      '  - { better: two, than: one, by: 0.02, detect: 0.05 }',
    )
    expect(statement.hypotheses).toMatchObject([
      { name: 'two level with one', by: 0, within: 0.02 },
      { name: 'two over one', by: 0.02, detect: 0.05 },
    ])
    expect(pilot).toEqual({ report: join(folder, 'reports', 'first.json') })
    expect(load(...whole).pilot).toEqual({ name: 'stated' })
  })

  it('knows its file by the digest that sha256sum gives', () => {
    const file = join(folder, 'empty-arms.yaml')
    writeFileSync(file, 'name: a\nseeds: [1]\narms: {a: {}}\n')
    // printf 'name: a\nseeds: [1]\narms: {a: {}}\n' | sha256sum
    expect(loadExperiment(file).statement.source).toEqual({
      file: 'empty-arms.yaml',
      sha256: 'de175daacf55f64bc83d401c742c8e17b0d76277f9e6279d02d2c2cfef7d424d',
    })
  })

  it('starts paths of its file at its folder, and those of the base at the base’s', () => {
    const { statement } = load(
      ...whole.slice(0, 5),
      '    tasks.0.data: games',
      '  two: { policy.from: ../old }',
    )
    expect(statement.arms[0]?.config.tasks[0]?.data).toBe(join(folder, 'below', 'games'))
    expect(statement.arms[1]?.config.policy.from).toBe(join(folder, 'old'))
  })
})

describe('a statement that cannot be run', () => {
  const claim = (text: string) => [...whole, 'hypotheses:', `  - ${text}`]

  it.each<[string, readonly string[], RegExp]>([
    [
      'an unknown key',
      [...whole, 'armz: {}'],
      /stated\.yaml:7: `armz` is no key here: .*did you mean "arms"/,
    ],
    [
      'an unknown key of a claim',
      claim('{ better: one, then: two }'),
      /`hypotheses\.0\.then` is no key here/,
    ],
    [
      'an unknown arm',
      claim('{ better: one, than: tow }'),
      /stated\.yaml:8: `hypotheses\.0\.than` is "tow": expected one of the arms one, two; did you mean "two"/,
    ],
    ['a policy compared with itself', claim('{ better: one, than: one@last }'), /the same policy/],
    [
      'an unknown suite',
      claim('{ better: one, than: two, on: lots }'),
      /`hypotheses\.0\.on` names lots: expected one of the measured suites few, many/,
    ],
    [
      'a difference in points where the measure is a share',
      claim('{ better: one, than: two, equivalent: { within: 2 } }'),
      /`hypotheses\.0\.equivalent` has a difference of 2: .*0\.02 is 2 points of success/,
    ],
    [
      'arms that are better and level',
      claim('{ better: one, than: two, by: 0.1, equivalent: { within: 0.2 } }'),
      /`hypotheses\.0\.by` is stated beside `equivalent`/,
    ],
    [
      'a planned difference of which the claim is not true',
      claim('{ better: one, than: two, by: 0.1, detect: 0.05 }'),
      /`hypotheses\.0\.detect` is 0\.05: expected a difference above 0\.1/,
    ],
    [
      'looks that do not end with all seeds',
      ['design: { looks: [2, 4] }', ...claim('{ better: one, than: two }')],
      /`design\.looks` are 2, 4: expected rising numbers of seeds, the last of them 3/,
    ],
    [
      'looks without a claim',
      ['design: { looks: [2, 3] }', ...whole],
      /`design\.looks` judge claims, and there are none/,
    ],
    [
      'an empty budget',
      claim('{ better: one, than: two, at: {} }'),
      /one of updates, episodes, tokens, seconds/,
    ],
    [
      'the best version at a budget',
      claim('{ better: one@best, than: two, at: { episodes: 9 } }'),
      /`hypotheses\.0\.at` is stated of a `best` version/,
    ],
    ['a seed twice', [...whole.slice(0, 2), 'seeds: [1, 1]', ...whole.slice(3)], /`seeds` .*each seed once/],
    ['no seed', [...whole.slice(0, 2), ...whole.slice(3)], /`seeds` is missing/],
    ['an arm that sets the seed', [...whole, '  three: { seed: 7 }'], /`seeds` has the seeds/],
    [
      'a name with a dot',
      ['name: a.b', ...whole.slice(1)],
      /`name` is "a\.b": expected up to 31 lower-case letters/,
    ],
    ['an arm with a dot', [...whole, '  th.ree: {}'], /up to 20 lower-case letters/],
    [
      'an arm whose configuration is wrong',
      [...whole, '  three: { rollout.groupSize: 1 }'],
      /stated\.yaml:7: arm three: .*`rollout\.groupSize` is 1: expected integer from 2/,
    ],
    [
      'an unknown key of a configuration',
      [...whole, '  three: { rollout.groupsize: 4 }'],
      /arm three: .*nearest known key is `rollout\.groupSize`/,
    ],
    [
      'a sign-flip test of few seeds',
      ['test: sign_flip', ...claim('{ better: one, than: two }')],
      /of 3 seeds its smallest p is 0\.25/,
    ],
    [
      'suites of one name that differ',
      [...claim('{ better: one, than: two, on: few }'), 'set: {}', 'measure: { suites: [few] }'].map(
        (line) => (line === '  two:' ? '  two: { evaluation.suites.0.episodes: 11 }' : line),
      ),
      /which is not the same in one and two/,
    ],
    ['no YAML', ['name: ['], /not valid YAML/],
  ])('is refused: %s', (_, lines, words) => {
    expect(() => load(...lines)).toThrow(words)
  })

  it('is refused where there is no such file', () => {
    expect(() => loadExperiment(join(folder, 'none.yaml'))).toThrow(/no such file/)
  })
})

it('says that one seed shows nothing, and that the best version looks better than it is', () => {
  const one = whole.map((line) => line.replace('[3, 4, 5]', '[3]'))
  expect(load(...one, 'hypotheses: [{ better: one@best, than: two }]').notices).toEqual([
    expect.stringMatching(/one seed shows nothing/),
    expect.stringMatching(/looks better than it is/),
  ])
  expect(load(...whole).notices).toEqual([])
})

const stated = readdirSync(join(root, 'examples/experiments')).map((name) => `examples/experiments/${name}`)

// [STATED-1]
it.each([...stated, 'test/support/tiny-experiment.yaml'])('%s states an experiment', (file) => {
  expect(() => loadExperiment(join(root, file))).not.toThrow()
})
