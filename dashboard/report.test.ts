import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { RunCurves } from './contract/curves.ts'
import type { EvaluationRow } from './contract/evaluation.ts'
import { curvesRoute, type Report, reportElement, runRoute, trajectoryRoute } from './contract/routes.ts'
import { addConsumedGroup, addRun, openFilledHome } from './filled-home.testing.ts'
import { figuresOf, withoutFolders, withReport, writeReport } from './report.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-report-'))
  mkdirSync(join(folder, 'page'))
  writeFileSync(join(folder, 'page', 'index.html'), '<!doctype html><head></head><body></body>')
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

function reportIn(html: string): Report {
  const [, json = ''] = new RegExp(`id="${reportElement}">(.*)</script>`, 's').exec(html) ?? []
  return JSON.parse(json)
}

// [RUN-REPORT-2]
test('a report has the answers of a run, its latest groups with their episodes, and its figures', async () => {
  await using home = await openFilledHome()
  const run = await addRun(home, 'first')
  await addConsumedGroup(home, run, 0, { step: 1 })
  await addConsumedGroup(home, run, 1, { step: 2 })
  const wish = { home: home.dir, run, out: join(folder, 'out'), page: join(folder, 'page'), release: '1' }
  const found = await writeReport({ ...wish, groups: 1 })
  expect(found).toMatchObject({ groups: 1, episodes: 2 })
  const { answers } = reportIn(readFileSync(found.file, 'utf8'))
  expect(answers[runRoute('first')]).toMatchObject({ run: 'first', step: 2 })
  expect(answers[curvesRoute('first')]).toMatchObject({ step: [1, 2] })
  expect(answers).toHaveProperty([trajectoryRoute('first/g1/s0/a0')])
  expect(answers).not.toHaveProperty([trajectoryRoute('first/g0/s0/a0')])
  expect(readFileSync(join(folder, 'out', 'updates.csv'), 'utf8').split('\r\n')).toHaveLength(4)
  await expect(writeReport({ ...wish, groups: 1 })).rejects.toMatchObject({ kind: 'conflict' })
})

test('episodes that are named are in it, whichever group they are of, and an unknown one is refused', async () => {
  await using home = await openFilledHome()
  const run = await addRun(home, 'first')
  await addConsumedGroup(home, run, 0, { step: 1 })
  const wish = { home: home.dir, run, page: join(folder, 'page'), release: '1', groups: 0 }
  const episodes = ['first/g0/s1/a0']
  const found = await writeReport({ ...wish, out: join(folder, 'out'), episodes })
  expect(found).toMatchObject({ groups: 0, episodes: 1 })
  const { answers } = reportIn(readFileSync(found.file, 'utf8'))
  expect(answers[trajectoryRoute('first/g0/s1/a0')]).toHaveProperty('row.episode', 'first/g0/s1/a0')
  const unknown = { ...wish, out: join(folder, 'other'), episodes: ['first/g7/s0/a0'] }
  await expect(writeReport(unknown)).rejects.toMatchObject({ kind: 'unknown' })
})

// [RUN-REPORT-3]
test('a report names neither the folder of the home nor that of the user', async () => {
  await using home = await openFilledHome()
  const run = await addRun(home, 'first')
  await addConsumedGroup(home, run, 0, { step: 1 })
  const wish = { home: home.dir, run, out: join(folder, 'out'), page: join(folder, 'page'), release: '1' }
  const html = readFileSync((await writeReport({ ...wish, groups: 1 })).file, 'utf8')
  expect(html).toContain('home:')
  expect(html).not.toContain(home.dir)
  expect(html).not.toContain(homedir())
  expect(withoutFolders({ file: '/h/b', path: '/u/c' }, ['/h', '/u'])).toEqual({
    file: 'home:/b',
    path: '~:/c',
  })
  expect(withoutFolders('/root/a, /rootfs/b', ['/h', '/root'])).toBe('~:/a, /rootfs/b')
})

// [RUN-REPORT-1]
test('no text of an episode ends the element that holds it, and each is read back as it was', () => {
  const said = '</script><script>alert(1)</script><!-- $& $1 \u2028 ]]>'
  const html = withReport('<head></head><body></body>', { made: 1, run: said, answers: { [said]: said } })
  expect(html.match(/<\/?script/g)).toHaveLength(2)
  expect(html).not.toContain('<!--')
  expect(reportIn(html)).toEqual({ made: 1, run: said, answers: { [said]: said } })
})

function evaluated(suite: string, version: number, value: number): EvaluationRow {
  const found = {
    success: { value, low: value - 0.1, high: value + 0.1 },
    n: 10,
    planned: 10,
    lost: {},
    instances: 10,
    means: [],
    passAt: {},
  }
  return { id: `r/e-${suite}-v${version}-1`, suite, version, step: version, seed: 1, created: 0, found }
}

const none = { version: [], tasks: {} } as unknown as RunCurves

// [REPORT-FIGURES-1]
test('each suite has a picture of its versions in order, with the expert beside the policy', () => {
  const evaluations = [
    evaluated('held_out', 20, 0.5),
    evaluated('held_out', 0, 0.3),
    evaluated('other', 0, 0.2),
  ]
  const experts = [{ suite: 'held_out', success: { value: 0.9, low: 0.8, high: 1 }, n: 10 }]
  const figures = figuresOf('first', { evaluations, experts, gates: [] }, none)
  expect(figures.map(({ name }) => name)).toEqual(['success-held_out.svg', 'success-other.svg'])
  expect(figures[0]?.svg).toContain('policy: 30.0 % at version 0, 50.0 % at version 20')
  expect(figures[0]?.svg).toContain('the expert: 90.0 % at version 0, 90.0 % at version 20')
  expect(figures[1]?.svg).not.toContain('the expert')
})

test('success in training is drawn by task, where an update has one', () => {
  const success = {
    success: [0.25, null, 0.5],
    success_low: [0.2, null, 0.4],
    success_high: [0.3, null, 0.6],
  }
  const curves = { version: [1, 2, 3], tasks: { db: success } } as unknown as RunCurves
  const [figure] = figuresOf('first', { evaluations: [], experts: [], gates: [] }, curves)
  expect(figure?.name).toBe('success-in-training.svg')
  expect(figure?.svg).toContain('db: 25.0 % at version 1, 50.0 % at version 3')
})

test('a run without figures has no picture', () => {
  expect(figuresOf('first', { evaluations: [], experts: [], gates: [] }, none)).toEqual([])
})
