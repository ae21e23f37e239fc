/** The same seed in synchronous mode: the same bytes, whatever the timing of turns and groups. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { loadConfig } from '../src/config/loader.ts'
import { runId } from '../src/identity.ts'
import { manifestFile } from '../src/policy/checkpoints/checkpoint.ts'
import { homeAt } from '../src/storage/home.ts'
import { openSession } from '../src/workers/training-session.ts'
import { removeHome, temporaryHome } from './perdure-process.ts'

const run = runId('same')
const updates = 2
const homes = [temporaryHome(), temporaryHome()] as const

beforeAll(async () => {
  const set = [
    'rollout.maxStaleness=0',
    `training.updates=${updates}`,
    'evaluation.suites=[]',
    // Enough that a third of the games succeed: groups of equal rewards would leave nothing to update.
    'warmStart.epochs=40',
  ]
  for (const home of homes) {
    const session = await openSession({ home, roles: 'all', log: () => undefined })
    await session.start(run, loadConfig({ file: 'examples/smoke.yaml', set }))
    expect(await session.result(run)).toMatchObject({ phase: 'done', version: updates })
    await session.close()
  }
}, 180_000)

afterAll(() => {
  for (const home of homes) removeHome(home)
})

it.each(Array.from({ length: updates + 1 }, (_, version) => version))(
  'two runs of one seed with η = 0 have the same bytes in version %i',
  (version) => {
    const [one, other] = homes.map((home) =>
      readFileSync(join(homeAt(home).run(run).checkpointDir(version), manifestFile), 'utf8'),
    )
    const weights = (manifest = '') => JSON.parse(manifest).files['model.safetensors'].sha256 as string
    expect(weights(one)).toBe(weights(other))
  },
)
