import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadExperiment } from './experiment.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-grid-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const grid =
  'grid: { learning.learningRate: [0.001, 0.002], learning.algorithm: [grpo, gspo] }, training.updates: 9'

function load(arms: string, rest = 'tune: { seeds: [8, 9] }') {
  const file = join(folder, 'stated.yaml')
  writeFileSync(file, `name: stated\nseeds: [1, 2]\narms: { usual: {}, ${arms} }\n${rest}\n`)
  return loadExperiment(file).statement
}

// [GRID-1]
it('each combination of a grid is an arm behind those of the file, the last key changing first', () => {
  const { arms, tune } = load(`tuned: { ${grid} }`)
  expect(tune).toEqual({ seeds: [8, 9] })
  expect(arms.map(({ arm, pointOf }) => [arm, pointOf])).toEqual([
    ['usual', undefined],
    ['tuned', undefined],
    ['tuned-1', 'tuned'],
    ['tuned-2', 'tuned'],
    ['tuned-3', 'tuned'],
    ['tuned-4', 'tuned'],
  ])
  expect(arms[1]?.set).toEqual({ 'training.updates': 9 })
  expect(
    arms.slice(2).map(({ config }) => [config.learning.learningRate, config.learning.algorithm]),
  ).toEqual([
    [0.001, 'grpo'],
    [0.001, 'gspo'],
    [0.002, 'grpo'],
    [0.002, 'gspo'],
  ])
  expect(arms.slice(2).map(({ config }) => config.training.updates)).toEqual([9, 9, 9, 9])
})

describe('a grid that cannot be run is refused', () => {
  it.each<[string, string, string | undefined, RegExp]>([
    ['without tuning seeds', `tuned: { ${grid} }`, '', /`arms\.tuned\.grid` needs seeds to choose by/],
    [
      'with a seed of the arms',
      `tuned: { ${grid} }`,
      'tune: { seeds: [2, 9] }',
      /`tune\.seeds` has 2, which is among/,
    ],
    ['where there is none', 'other: {}', undefined, /`tune` has nothing to choose/],
    ['of one point', 'tuned: { grid: { seed: [1] } }', undefined, /2 to 16 combinations/],
    [
      'of seventeen points',
      `tuned: { grid: { a: [${Array(17).fill(1)}] } }`,
      undefined,
      /2 to 16 combinations/,
    ],
    [
      'with the name of another arm',
      `tuned-2: {}, tuned: { ${grid} }`,
      undefined,
      /`arms\.tuned-2` is called as a point/,
    ],
    [
      'of a value that no run can have',
      'tuned: { grid: { training.updates: [1, x] } }',
      undefined,
      /arm tuned: .*"x"/,
    ],
    [
      'where a claim names a point',
      `tuned: { ${grid} }`,
      'tune: { seeds: [9] }\nhypotheses: [{ better: tuned-1, than: usual }]',
      /expected one of the arms usual, tuned/,
    ],
  ])('%s', (_, arms, rest, message) => {
    expect(() => load(arms, rest)).toThrow(message)
  })
})
