import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadExperiment } from '../../config/files/experiment.ts'
import { packageRoot } from '../../machine/files/folder.ts'
import { baseline, commonTime, entrantOf, methods, panelNames, statementText } from './panel.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'panel-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

const known = Object.keys(methods).flatMap((name) => entrantOf(name) ?? [])
const examples = join(packageRoot, 'examples')

describe.each(panelNames)('the panel %s', (panel) => {
  it('states all methods, each against its start, and against the baseline at equal updates and time', () => {
    const file = join(folder, `${panel}.yaml`)
    const of = { panel, entrants: known, seeds: [11, 12], at: { cpuSeconds: 60 }, set: {} }
    writeFileSync(file, statementText(panel, of, { examples, folder }))
    const { arms, hypotheses } = loadExperiment(file).statement
    expect(arms.map(({ arm }) => arm)).toEqual(Object.keys(methods))
    expect(hypotheses).toHaveLength(known.length + 2 * (known.length - 1))
    for (const { config } of arms.filter(({ arm }) => arm !== 'step_groups'))
      expect(config.learning).toMatchObject({ stepGroups: { weight: 0 }, imitation: { coefficient: 0 } })
    const compared = hypotheses.filter(({ than }) => than.arm === baseline && than.version === 'last')
    expect(compared.map(({ at }) => at?.cpuSeconds)).toEqual(known.slice(1).flatMap(() => [undefined, 60]))
  })

  it('states one method alone, and values of a user', () => {
    const file = join(folder, `${panel}-alone.yaml`)
    const entrants = known.filter(({ name }) => name === 'self_imitation')
    const of = { panel, entrants, seeds: [11], set: { 'training.updates': 3 } }
    writeFileSync(file, statementText(`${panel}-alone`, of, { examples, folder }))
    const { arms, hypotheses } = loadExperiment(file).statement
    expect(arms.map(({ config }) => config.training.updates)).toEqual([3])
    expect(hypotheses.map(({ name }) => name)).toEqual(['self_imitation-learns'])
  })
})

it('a method of a user is named by its file, and its path starts at the statement', () => {
  const own = join(folder, 'methods', 'My-Method.ts')
  mkdirSync(join(folder, 'methods'))
  writeFileSync(own, '')
  const entrant = entrantOf(own)
  expect(entrant?.name).toBe('my_method')
  const entrants = entrant === undefined ? [] : [entrant]
  const of = { panel: 'offers', entrants, seeds: [11], set: {} } as const
  expect(statementText('mine', of, { examples, folder })).toContain(
    'learning.algorithm: ./methods/My-Method.ts',
  )
  expect(entrantOf('unknown')).toBeUndefined()
})

it('methods are compared at the time of the fastest run: of processors, unless a card of an earlier build lacks it', () => {
  const run = (...spent: readonly { readonly seconds: number; readonly cpuSeconds?: number }[]) => ({
    figures: spent.map((each, version) => ({
      ...{ suite: 'test', version, value: 0, success: 0, n: 1, planned: 1, spent: each },
      shares: () => Promise.resolve(new Map()),
    })),
  })
  const slow = run({ seconds: 0, cpuSeconds: 0 }, { seconds: 90, cpuSeconds: 71.5 })
  const fast = run({ seconds: 0, cpuSeconds: 0 }, { seconds: 95, cpuSeconds: 60.2 })
  expect(commonTime([slow, fast])).toEqual({ cpuSeconds: 61 })
  expect(commonTime([slow, fast, run({ seconds: 10 }, { seconds: 99 })])).toEqual({ seconds: 90 })
  // A run that begins later than another ends is compared where it begins.
  expect(commonTime([fast, run({ seconds: 120 }, { seconds: 200 })])).toEqual({ seconds: 120 })
  expect(commonTime([run({ seconds: 0, cpuSeconds: 0 })])).toBeUndefined()
})
