import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ExperimentReport, ReportedHypothesis } from '../../client/experiment/experiment-report.ts'
import { runId } from '../../identity/identity.ts'
import { packageRoot } from '../../machine/files/folder.ts'
import { answerTo } from '../terminal/answer.testing.ts'
import { sameCall } from './experiment.ts'
import { reportLines } from './experiment-table.ts'

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-experiment-'))
  mkdirSync(join(folder, 'home'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

function stated(text: string): string {
  const file = join(folder, 'stated.yaml')
  writeFileSync(file, text)
  return file
}

describe('a wrong call ends with 2, says what is wrong, and starts nothing', () => {
  it.each<[string, readonly string[], RegExp]>([
    ['no file', ['none.yaml'], /none\.yaml: no such file; give the path/],
    ['no argument', [], /missing required argument 'file'/],
    [
      'no number',
      ['examples/experiments/smoke.yaml', '--parallel', '0'],
      /--parallel.*whole number from 1 on/,
    ],
    ['a report of nothing', ['report', 'nothing'], /FILE\|NAME is "nothing": .* has no experiment/],
    ['a report of no name', ['report', 'no/thing'], /FILE\|NAME is "no\/thing": there is no such file/],
    [
      'a report that is none',
      ['examples/experiments/smoke.yaml', '--with', 'package.json'],
      /package\.json: it is no report with outcomes/,
    ],
    [
      'a report of a file with one that is none',
      ['report', 'examples/experiments/smoke.yaml', '--with', 'none.json'],
      /none\.json: it cannot be read/,
    ],
    [
      'a plan without a pilot',
      ['plan', 'examples/experiments/smoke.yaml', '--points', '10'],
      /has no experiment to be the pilot of smoke: run it with two seeds or more first/,
    ],
    ['an empty folder', ['report', 'smoke', '--out', ''], /It is empty/],
  ])('%s', async (_, words, message) => {
    const { code, stdout, stderr } = await answerTo('experiment', ...words, '--home', join(folder, 'home'))
    expect(stderr).toMatch(message)
    expect([code, stdout]).toEqual([2, ''])
  })

  it('a file that states what cannot be done, with all that is wrong', async () => {
    const file = stated('name: a\nseeds: [1, 1]\narms: { one: {}, two: {} }\nlevels: 0.1\n')
    const { code, stderr } = await answerTo('experiment', file, '--home', join(folder, 'home'))
    expect(stderr).toMatch(/stated\.yaml:2: `seeds` .*each seed once/)
    expect(stderr).toMatch(/stated\.yaml:4: `levels` is no key here: .*did you mean "level"/)
    expect(code).toBe(2)
  })

  it('an arm whose task there is not', async () => {
    const file = stated('name: a\nseeds: [1]\narms:\n  one:\n    tasks: [{ task: chess }]\n')
    const { code, stderr } = await answerTo('experiment', file, '--home', join(folder, 'home'))
    expect(stderr).toMatch(/arm one: .*`tasks\.0\.task` is "chess"/)
    expect(code).toBe(2)
  })
})

it('a plan has the seeds, the cost and the certainty of each claim', async () => {
  const report = join(packageRoot, 'research/reports/five-tasks.json')
  const stating = readFileSync(join(packageRoot, 'examples/experiments/five-tasks.yaml'), 'utf8')
  // Each claim costs seconds of simulated experiments: two are enough to be listed.
  const text = stating.replaceAll(/^ {2}- \{ name: adds-on-(db|kg|os|webshop),.*\n?/gm, '')
  const file = stated(
    `${text.replace(/^base: .*$/m, `base: ${join(packageRoot, 'examples/five-tasks.yaml')}`)}\npilot: ${report}\n`,
  )
  const call = ['experiment', 'plan', file, '--points', '12', '--home', join(folder, 'home')]
  const { code, stdout } = await answerTo(...call)
  expect(code).toBe(0)
  expect(stdout).toMatch(/adds-in-the-mean, on .* │ \+12\.0 +│ 100 .* │ \d+ +│ [89]\d % +│/)
  expect(stdout).toMatch(
    /adds-in-the-mean: the file's 5 seeds find it in \d+ % of experiments\. Deviations of 5 seeds:/,
  )
  const answer = JSON.parse((await answerTo(...call, '--json')).stdout)
  expect(answer).toMatchObject({ pilot: 'five-tasks.json', arms: 1 })
  expect(answer.claims).toHaveLength(2)
})

describe('the table of claims', () => {
  const claim: ReportedHypothesis = {
    name: 'more',
    better: 'two@last',
    than: 'one@last',
    by: 0.1,
    on: ['held_out'],
    missing: [],
    instances: 100,
    seeds: [0.2, 0.3],
    difference: 0.25,
    t: { low: -0.385, high: 0.885, p: 0.126 },
    bootstrap: { low: 0.15, high: 0.35 },
    signFlip: { p: 0.5, smallest: 0.5, exact: true },
    p: 0.126,
    adjusted: 0.252,
    verdict: 'not shown',
  }
  const report: ExperimentReport = {
    experiment: 'few',
    source: { file: 'few.yaml', sha256: '0' },
    began: '2026-01-01T00:00:00.000Z',
    machine: 'none',
    set: {},
    seeds: [1, 2],
    due: [1, 2],
    version: 'last',
    measure: 'success',
    test: 't',
    level: 0.05,
    arms: [],
    hypotheses: [claim],
    curves: [],
    runs: [{ run: runId('few.two.2'), arm: 'two', seed: 2, status: 'failed', measured: [], curve: [] }],
  }

  function textOf(given: ExperimentReport): string {
    return reportLines(given)
      .map((line) => (typeof line === 'string' ? line : line.inWidth(Number.POSITIVE_INFINITY)))
      .join('\n')
  }

  it('is continued by the call that began it, with its data and the reports of runs done elsewhere', () => {
    const options = { home: 'h', data: 'my data', parallel: 3, with: ['a.json', 'b.json'], cache: false }
    expect(sameCall('x.yaml', options)).toBe(
      "experiment x.yaml --data 'my data' --parallel 3 --with a.json b.json --no-cache",
    )
    expect(sameCall('x.yaml', { home: 'h', cache: true })).toBe('experiment x.yaml')
  })

  it('says of a claim that is not shown how large it may be', () => {
    const text = textOf(report)
    expect(text).toContain('more by +10.0, on held_out')
    expect(text).toContain('not shown at this scale (at most +88.5)')
    expect(text).toMatch(/\+25\.0.*−38\.5 to \+88\.5.*\+15\.0 to \+35\.0.*0\.1260.*0\.5000.*0\.2520/)
    expect(text).toContain('Not done: few.two.2 (failed)')
  })

  it('says of a claim that is open which seeds are missing, and of one that is shown just that', () => {
    expect(textOf({ ...report, hypotheses: [{ ...claim, missing: [2] }] })).toContain(
      'open: seeds 2 are missing',
    )
    expect(textOf({ ...report, hypotheses: [{ ...claim, verdict: 'contradicted' }] })).toMatch(
      /contradicted\s+│/,
    )
    const level = { ...claim, by: 0, within: 0.02, verdict: 'level' } as const
    expect(textOf({ ...report, hypotheses: [level] })).toMatch(
      /more within ±2\.0, on .* level within ±2\.0\s+│/,
    )
  })
})
