import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'
import { createLogFile, lineOf } from './log-file.ts'
import { workOfActivity, workOfWorkflow } from './work.ts'

const folder = mkdtempSync(join(tmpdir(), 'perdure-log-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
afterEach(() => vi.unstubAllEnvs())

const entry = (message: string, meta: Record<string, unknown> = {}) => ({
  time: 0,
  level: 'WARN',
  message,
  meta,
})

describe('a line of the log', () => {
  // [LOG-FILE-1]
  it('holds no control code that a terminal would obey', () => {
    const line = lineOf(entry('clear \u001b[2J \u009b2J', { reason: '\u202e' }))
    expect(line).not.toMatch(/\p{Cc}|\p{Bidi_Control}/u)
    expect(JSON.parse(line)).toMatchObject({ message: 'clear \u001b[2J \u009b2J', reason: '\u202e' })
  })

  it('names the run, group, episode and turn that it is about', () => {
    expect(JSON.parse(lineOf(entry('slow', { workflowId: 'demo/g3/s0/a1', turn: 4 })))).toEqual({
      time: '1970-01-01T00:00:00.000Z',
      level: 'WARN',
      message: 'slow',
      run: 'demo',
      group: 'demo/g3',
      episode: 'demo/g3/s0/a1',
      workflowId: 'demo/g3/s0/a1',
      turn: 4,
    })
  })

  it('keeps what JSON cannot hold as text', () => {
    const meta = { error: new Error('lost'), count: 3n }
    expect(JSON.parse(lineOf(entry('x', meta)))).toMatchObject({
      error: expect.stringContaining('lost'),
      count: '3',
    })
  })

  it('holds no secret that the process knows of', () => {
    vi.stubEnv('TEMPORAL_API_KEY', 'the-key-of-the-cloud')
    expect(
      lineOf(entry('refused the-key-of-the-cloud', { header: 'Bearer the-key-of-the-cloud' })),
    ).not.toContain('the-key-of-the-cloud')
  })
})

describe('a log file', () => {
  it('is put aside when it is full, and the oldest ones are deleted', () => {
    const file = join(folder, 'full.log')
    const log = createLogFile(file, { onSilence: expect.unreachable, fullBytes: 1000 })
    for (let line = 0; line < 200; line++) log.write(entry(`line ${line}`))
    const files = readdirSync(folder).filter((name) => name.startsWith('full.log'))
    expect(files.sort()).toEqual(['full.log', 'full.log.1', 'full.log.2', 'full.log.3', 'full.log.4'])
    for (const name of files) expect(statSync(join(folder, name)).size).toBeLessThanOrEqual(2000)
    const lines = ['full.log.1', 'full.log'].flatMap((name) =>
      readFileSync(join(folder, name), 'utf8').trim().split('\n'),
    )
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ message: 'line 199' })
  })

  it('that cannot be written stops nothing and is reported once', () => {
    const reports: string[] = []
    const log = createLogFile(join(folder, 'not', 'there', 'x.log'), {
      onSilence: (line) => reports.push(line),
    })
    log.write(entry('a'))
    log.write(entry('b'))
    expect(reports).toHaveLength(1)
    expect(reports[0]).toContain('x.log')
  })
})

describe('what a workflow belongs to', () => {
  it.each([
    ['demo', { run: 'demo' }],
    ['demo/g3', { run: 'demo', group: 'demo/g3' }],
    ['demo/g3/s0/a1', { run: 'demo', group: 'demo/g3', episode: 'demo/g3/s0/a1' }],
    ['demo/g3/s0/a1/b2-v5', { run: 'demo', group: 'demo/g3', episode: 'demo/g3/s0/a1' }],
    ['demo/g3/s0/a1/b2-v5/s0/a0', { run: 'demo', group: 'demo/g3', episode: 'demo/g3/s0/a1/b2-v5/s0/a0' }],
    ['demo/e-held_out-v2-1', { run: 'demo', evaluation: 'demo/e-held_out-v2-1' }],
    [
      'demo/e-held_out-v2-1/s7/a0',
      { run: 'demo', evaluation: 'demo/e-held_out-v2-1', episode: 'demo/e-held_out-v2-1/s7/a0' },
    ],
    ['demo/schedule-nightly/at-2026-01-01T00:00:00Z', { run: 'demo' }],
    ['temporal-sys-scheduler:demo/x', {}],
  ])('%s', (id, work) => {
    expect(workOfWorkflow(id)).toEqual(work)
  })

  it('is reported by the argument of an activity too', () => {
    expect(workOfActivity('demo/g3/s0/a1', { turn: 2, other: 1 })).toMatchObject({ run: 'demo', turn: 2 })
    expect(workOfActivity('demo', { step: 5 })).toEqual({ run: 'demo', step: 5 })
    expect(workOfActivity('demo', undefined)).toEqual({ run: 'demo' })
    expect(workOfActivity('demo', { turn: 'two' })).toEqual({ run: 'demo' })
  })
})

it('a log whose folder was removed goes on in a new one, and not where its home is gone', () => {
  const home = join(folder, 'home')
  const file = join(home, 'logs', 'workers.log')
  mkdirSync(join(home, 'logs'), { recursive: true })
  const silences: string[] = []
  const log = createLogFile(file, { onSilence: (line) => silences.push(line) })
  log.write(entry('before'))
  rmSync(join(home, 'logs'), { recursive: true })
  log.write(entry('after'))
  expect(readFileSync(file, 'utf8')).toContain('after')
  expect(silences).toEqual([])
  rmSync(home, { recursive: true })
  log.write(entry('gone'))
  expect(silences).toHaveLength(1)
})
