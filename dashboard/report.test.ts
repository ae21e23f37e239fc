import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { curvesRoute, type Report, reportElement, runRoute, trajectoryRoute } from './contract/routes.ts'
import { addConsumedGroup, addRun, openFilledHome } from './filled-home.testing.ts'
import { withoutFolders, withReport, writeReport } from './report.ts'

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
