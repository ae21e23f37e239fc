/** Warm starts by real commands: made once, found by another run, made again where that is asked for. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runId } from '../../identity/identity.ts'
import { cacheFolder } from '../../machine/files/folder.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { removeHome, startPerdure, temporaryHome } from '../support/perdure-process.ts'

const config = new URL('../support/whole-pipeline.yaml', import.meta.url).pathname
const cache = mkdtempSync(join(tmpdir(), 'perdure-cache-'))
const home = temporaryHome()
/** Message of a run that found its warm start. */
const taken = 'is taken from the cache'

// A cache of the test's own, where what else the user's has is found.
beforeAll(() => {
  const mine = join(cache, 'perdure')
  mkdirSync(mine)
  const others = existsSync(cacheFolder()) ? readdirSync(cacheFolder()) : []
  for (const name of others)
    if (name !== 'warm-starts') symlinkSync(join(cacheFolder(), name), join(mine, name))
  delete process.env.PERDURE_NO_CACHE
  process.env.XDG_CACHE_HOME = cache
})
afterAll(() => {
  removeHome(home)
  rmSync(cache, { recursive: true, force: true })
})

/** Trains a run that is its warm start alone. */
async function warmStart(run: string, ...more: readonly string[]) {
  const values = { 'warmStart.epochs': 1, 'training.updates': 0, 'evaluation.suites': '[]' }
  const set = Object.entries(values).flatMap(([key, value]) => ['--set', `${key}=${value}`])
  const { code, stdout, stderr } = await startPerdure(home, 'train', config, '--run', run, ...set, ...more)
    .ended
  expect(code, stderr).toBe(0)
  const dir = homeAt(home).run(runId(run)).checkpointDir(0)
  const bytes = Object.fromEntries(
    readdirSync(dir).map((name) => [name, readFileSync(join(dir, name), 'hex')]),
  )
  return { output: stdout + stderr, bytes }
}

// [WARM-START-1]
it('a warm start is made once, found to the byte, and made again with --no-cache or where it is damaged', async () => {
  const made = await warmStart('made')
  expect(made.output).not.toContain(taken)

  const found = await warmStart('found', '--set', 'learning.learningRate=0.001')
  expect(found.output).toContain(taken)
  expect(found.bytes).toEqual(made.bytes)

  const again = await warmStart('again', '--no-cache')
  expect(again.output).not.toContain(taken)
  expect(again.bytes).toEqual(made.bytes)

  const kept = join(cache, 'perdure', 'warm-starts')
  const entries = readdirSync(kept)
  expect(entries).toHaveLength(1)
  const doctor = await startPerdure(home, 'doctor').ended
  expect(doctor.stdout).toMatch(/warm starts +1 kept, .* in .*warm-starts/)
  writeFileSync(join(kept, entries[0] ?? '', 'model.safetensors'), 'damaged')
  const repaired = await warmStart('repaired')
  expect(repaired.output).not.toContain(taken)
  expect(repaired.output).toMatch(/model\.safetensors .* it is made again/)
  expect(repaired.bytes).toEqual(made.bytes)
  expect((await warmStart('found-again')).output).toContain(taken)
}, 300_000)
