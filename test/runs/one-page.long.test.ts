/** The page `examples/one-page.ts` is a run without durability: it computes the same policy. */
import { execFile } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, it } from 'vitest'
import { runId } from '../../identity/identity.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { removeHome, startPerdure, temporaryHome } from '../support/perdure-process.ts'

const page = join(import.meta.dirname, '../../examples/one-page.ts')
/** A short warm start, and updates of few groups. */
const set = [
  'warmStart.demonstrations=60',
  'warmStart.epochs=24',
  'rollout.groupsPerUpdate=4',
  'training.updates=2',
  'evaluation.suites.0.episodes=1',
]
const home = temporaryHome()
let folder: string | undefined

afterAll(() => {
  removeHome(home)
  if (folder !== undefined) rmSync(folder, { recursive: true })
})

it('samples, learns and publishes what a durable run of the same settings does, to the byte', async () => {
  expect(readFileSync(page, 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(150)
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [page, ...set])
  expect(stderr).toBe('')
  expect(stdout).toMatch(/^version 0 wins \d+ of 100 new games\n(update [12]: \d+ of 32 games won\n){2}/)
  const checkpoint = /^version 2 wins \d+ of 100 new games: (.+)$/m.exec(stdout)?.[1] ?? ''
  folder = dirname(dirname(dirname(dirname(checkpoint))))

  const options = ['--run', 'durable', '--no-cache', ...set.flatMap((value) => ['--set', value])]
  const { code } = await startPerdure(home, 'train', 'examples/smoke.yaml', ...options).ended
  expect(code).toBe(0)
  const durable = homeAt(home).run(runId('durable')).checkpointDir(2)
  for (const file of ['model.safetensors', 'optimizer.safetensors', 'tokenizer.json'])
    expect(readFileSync(join(checkpoint, file)).equals(readFileSync(join(durable, file))), file).toBe(true)
}, 180_000)
