/** A home that cannot be written, has no room or has lost its store: reported in one clear line, and read where it can be. */
import { execFileSync } from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mountSmallDisk, type SmallDisk } from '../../bench/chaos/disk.ts'
import { type Answer, answerTo } from '../../cli/terminal/answer.testing.ts'
import { configSchema } from '../../config/schema/schema.ts'
import { runId } from '../../identity/identity.ts'
import { publishCheckpoint } from '../../policy/checkpoints/checkpoint.ts'
import { tinyArchitecture, tinyWeights } from '../../policy/checkpoints/policy.testing.ts'
import { createHome, createRunDirectory, type Home, homeAt } from '../../storage/disk/home.ts'
import { undoMigrations } from '../../storage/sqlite/older-store.testing.ts'
import { openStore } from '../../storage/store.ts'
import { type Ending, removeHome, startPerdure, temporaryHome } from '../support/perdure-process.ts'

const run = runId('demo')
const folder = temporaryHome()
const disk = mountSmallDisk(join(folder, 'disk'), 24)
const noDisk = typeof disk === 'string'
if (noDisk) console.warn(`part of damaged-home.long.test.ts is skipped: ${disk}`)

/** Runs a command to its end. */
function perdure(home: string, words: readonly string[]): Promise<Ending> {
  return startPerdure(home, ...words).ended
}

async function makeHome(dir: string): Promise<Home> {
  const home = createHome(dir)
  const directory = createRunDirectory(home, run)
  await using store = await openStore(home.storeFile)
  await store.runs.insert({ id: run, config: configSchema.parse({}), created: 1 })
  await store.runs.publish(run, { version: 0, state: {} })
  await store.runs.setStatus(run, 'running')
  await publishCheckpoint(directory.checkpointDir(0), {
    architecture: tinyArchitecture,
    weights: tinyWeights(() => 0),
    tokenizer: '{}',
    state: { version: 0, step: 0, chat: 'compact', facts: {} },
  })
  return home
}

/** The store as a process that was killed leaves it: a part of it in the log, and no index of the log. */
function leaveInLog({ storeFile }: Home): void {
  const database = new DatabaseSync(storeFile)
  database.exec(`pragma wal_autocheckpoint = 0; update runs set detail = 'from the log'`)
  for (const suffix of ['', '-wal']) copyFileSync(storeFile + suffix, `${storeFile}.kept${suffix}`)
  database.close()
  for (const suffix of ['', '-wal']) copyFileSync(`${storeFile}.kept${suffix}`, storeFile + suffix)
  for (const suffix of ['', '-wal']) rmSync(`${storeFile}.kept${suffix}`)
  rmSync(`${storeFile}-shm`, { force: true })
}

/** The store as the release before the last migration left it. */
function leaveOld({ storeFile }: Home): void {
  undoMigrations(storeFile)
}

const states: readonly (readonly [string, (home: Home) => void])[] = [
  ['closed', () => undefined],
  ['log', leaveInLog],
  ['old', leaveOld],
]

afterAll(() => {
  if (!noDisk) (disk as SmallDisk).remove()
  removeHome(folder)
})

describe.skipIf(noDisk)('a home on a disk that is mounted read-only', () => {
  const mount = (how: string) =>
    execFileSync('mount', ['-o', `remount,${how}`, (disk as SmallDisk).folder], { stdio: 'pipe' })
  const at = (state: string) => join((disk as SmallDisk).folder, state)
  let before: readonly string[]

  beforeAll(async () => {
    for (const [state, leave] of states) leave(await makeHome(at(state)))
    mkdirSync(join(at('closed'), 'locks/temporal-users'), { recursive: true })
    writeFileSync(join(at('closed'), 'locks/temporal-users/1-dead'), '')
    before = readdirSync((disk as SmallDisk).folder, { recursive: true }) as string[]
    mount('ro')
  }, 60_000)
  afterAll(() => {
    expect(readdirSync((disk as SmallDisk).folder, { recursive: true })).toEqual(before)
    mount('rw')
  })

  // [STORE-4]
  it.each(states.map(([state]) => state))(
    'whose store is %s is read by every command that only reads',
    async (state) => {
      const out = join(folder, `${state}.jsonl`)
      const calls = [
        ['status', run, '--json'],
        ['runs', '--json'],
        ['audit', run, '--json'],
        ['export', run, '--out', out, '--json'],
        ['disk', '--json'],
        ['data', 'list', '--json'],
        ['clean', '--dry-run', '--json'],
      ]
      const ended: Answer[] = []
      for (const words of calls) ended.push(await answerTo(...words, '--home', at(state)))
      expect(ended.map(({ code, stderr }) => [code, stderr])).toEqual(calls.map(() => [0, '']))
      expect(JSON.parse(ended[0]?.stdout ?? '')).toMatchObject({ run, status: 'running' })
      expect(ended[0]?.stdout.includes('from the log')).toBe(state === 'log')
      expect(existsSync(out)).toBe(true)
    },
    120_000,
  )

  it('is named by doctor, which finds nothing else wrong with it', async () => {
    const { code, stdout } = await perdure(at('closed'), ['doctor', '--repair', '--json'])
    const { checks } = JSON.parse(stdout) as { checks: { name: string; state: string; detail: string }[] }
    expect(code).toBe(1)
    const wrong = checks.filter(({ state, name }) => state === 'wrong' && name !== 'disk')
    expect(wrong).toMatchObject([{ name: 'home', detail: expect.stringContaining(at('closed')) }])
  }, 60_000)

  it('is named by a command that writes', async () => {
    const { code, stderr } = await perdure(at('closed'), ['resume', run])
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^error: .*cannot be opened for writing.*\n$/)])
  }, 60_000)
})

describe.skipIf(noDisk)('a disk that is full before anything was started', () => {
  const { fill, empty } = noDisk ? { fill: () => undefined, empty: () => undefined } : (disk as SmallDisk)
  beforeAll(() => fill())
  afterAll(() => empty())

  it.each([
    ['train', 'test/support/whole-pipeline.yaml'],
    ['worker', '--role', 'all'],
  ])(
    '%s names it with what is free and what is needed, and makes nothing',
    async (...words) => {
      const home = join((disk as SmallDisk).folder, 'new')
      const { code, stderr } = await perdure(home, words)
      expect(code).toBe(1)
      expect(stderr).toMatch(
        /the disk of \S+new is full: [\d.]+ MB are free, at least \d+ MB are needed to start/,
      )
      expect(existsSync(home)).toBe(false)
    },
    60_000,
  )
})

describe('a home with runs and without its store', () => {
  let home: Home
  beforeAll(async () => {
    home = await makeHome(join(folder, 'lost'))
    cpSync(home.dir, join(folder, 'gone'), { recursive: true })
    truncateSync(home.storeFile)
    rmSync(homeAt(join(folder, 'gone')).storeFile)
  })

  it.each(['lost', 'gone'])(
    '(%s) is named by every command, and no new store is made in it',
    async (name) => {
      const { dir, storeFile } = homeAt(join(folder, name))
      const calls = [['runs'], ['status', run], ['resume', run], ['export', run], ['disk']]
      const ended: (Answer | Ending)[] = [await perdure(dir, ['train', 'test/support/whole-pipeline.yaml'])]
      for (const words of calls) ended.push(await answerTo(...words, '--home', dir))
      for (const { code, stderr } of ended)
        expect([code, stderr]).toEqual([
          1,
          expect.stringMatching(/^error: store .* is (missing|empty).*demo.*backup.*\n$/),
        ])
      expect(existsSync(storeFile)).toBe(name === 'lost')
      const { checks } = JSON.parse((await answerTo('doctor', '--json', '--home', dir)).stdout)
      expect(checks).toContainEqual(expect.objectContaining({ name: 'store', state: 'wrong' }))
    },
    120_000,
  )
})

describe('a home that is deleted while a run works in it', () => {
  it('ends the run with one clear line, its server too, and no new home is made in its place', async () => {
    const dir = join(folder, 'deleted')
    const training = startPerdure(dir, 'train', 'test/support/whole-pipeline.yaml', '--run', run)
    await expect.poll(training.output, { timeout: 120_000 }).toContain('warm start, part 1')
    const [, address = ''] = /listens on (\S+)\.\n/.exec(training.output()) ?? []
    rmSync(dir, { recursive: true, maxRetries: 3 })
    const { code, stderr } = await training.ended
    expect([code, stderr]).toEqual([1, expect.stringContaining('store.db is gone while it was in use')])
    expect(existsSync(dir)).toBe(false)
    await expect(fetch(`http://${address}`)).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } })
  }, 240_000)
})
