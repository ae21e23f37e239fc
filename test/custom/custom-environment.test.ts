/** A custom environment, as its author meets Perdure: trained by path, measured elsewhere, from a script. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import * as entry from '../../index.ts'
import {
  type Ending,
  eventually,
  removeHome,
  serverPid,
  startPerdure,
  temporaryHome,
} from '../support/perdure-process.ts'

const root = process.cwd()
const home = temporaryHome()
const miniature = [
  'rollout.groupSize=4',
  'rollout.groupsPerUpdate=2',
  'rollout.refill=0',
  'warmStart.demonstrations=8',
  'warmStart.epochs=1',
  'policy.hiddenSize=32',
  'training.updates=2',
  'evaluation.suites.0.episodes=6',
]
const set = miniature.flatMap((value) => ['--set', value])

afterAll(() => {
  process.chdir(root)
  removeHome(home)
})

it('the tests of an example pass, and its types are right', async () => {
  const words = [join(root, 'bin/perdure.mjs'), 'env', 'test', './examples/guess-number']
  const { stdout } = await promisify(execFile)(process.execPath, words)
  expect(stdout).toMatch(/fail 0/)
})

it('the tests of other examples pass', async () => {
  const sharing = join(root, 'machine/modules/sharing-preload.ts')
  const tests = ['errands', 'notes', 'openenv', 'two-judges'].map((name) => `examples/${name}/index.test.ts`)
  const words = ['--import', sharing, '--test', ...tests]
  const { stdout } = await promisify(execFile)(process.execPath, words)
  expect(stdout).toMatch(/fail 0/)
})

describe('an environment that a configuration names by path', () => {
  let training: Ending
  beforeAll(async () => {
    training = await startPerdure(home, 'train', 'examples/guess-number/train.yaml', '--run', 'own', ...set)
      .ended
  }, 300_000)

  it('is trained on, and its metrics are under its name', () => {
    expect(training.stderr).not.toMatch(/error/i)
    expect(training.code).toBe(0)
    const lines = readFileSync(join(home, 'runs/own/metrics.jsonl'), 'utf8').trim().split('\n')
    const updates = lines.map((line) => JSON.parse(line)).filter((line) => 'step' in line)
    expect(updates).toHaveLength(2)
    for (const { success, samples } of updates) {
      expect(Object.keys(success)).toEqual(['guess-number'])
      expect(samples).toEqual({ 'guess-number': 8 })
    }
  })

  it('is found again from another directory', async () => {
    process.chdir(tmpdir())
    const measured = await startPerdure(home, 'eval', 'own@0', '--episodes', '3', '--json').ended
    process.chdir(root)
    expect(measured.stderr).not.toMatch(/error/i)
    expect(JSON.parse(measured.stdout)).toMatchObject({ run: 'own', version: 0, n: 3 })
  }, 300_000)
})

describe('a program that embeds Perdure', () => {
  let script: ChildProcess | undefined
  afterAll(() => script?.kill('SIGKILL'))

  // [ROLES-1]
  it('trains, follows and leaves nothing running', async () => {
    const child = spawn(
      process.execPath,
      [join(root, 'examples/embed/train.ts'), home, ...miniature, 'training.updates=1'],
      { cwd: tmpdir(), stdio: ['ignore', 'pipe', 'pipe'] },
    )
    script = child
    const [printed, complaints, code] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      new Promise((resolve) => child.once('close', resolve)),
    ])
    expect(complaints).not.toMatch(/error/i)
    expect(printed).toMatch(/^unseen at version 0: \d+\.\d % of 6$/m)
    expect(printed).toMatch(/^update 1: \d+\.\d % of 8 episodes$/m)
    expect(printed).toMatch(/^(done|stopped) at version [01]; checkpoints in /m)
    expect(code).toBe(0)
    await eventually('the server to end', () => (serverPid(home) === undefined ? true : undefined))
  }, 300_000)

  it('imports by the name of the package what its sources export', async () => {
    const published = (await import(/* @vite-ignore */ join(root, 'bin/index.mjs'))) as object
    expect(Object.keys(published).sort()).toEqual(Object.keys(entry).sort())
  })
})
