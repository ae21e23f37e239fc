/** A run on a server that is killed and comes back while episodes are played there. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { groupId, runId } from '../../identity/identity.ts'
import { openStore } from '../../storage/store.ts'
import { freePort } from '../host/free-port.ts'
import { eventually, removeHome, startPerdure, temporaryHome } from '../support/perdure-process.ts'

const home = temporaryHome()
const program = join(import.meta.dirname, '../host/guessing-server.ts')
let server: ChildProcess | undefined
afterAll(() => {
  server?.kill('SIGKILL')
  removeHome(home)
})

function updates(): readonly { readonly samples: object }[] {
  const file = join(home, 'runs/far/metrics.jsonl')
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
  return lines.filter((line) => line.includes('"step"')).map((line) => JSON.parse(line))
}

// [OPENENV-1] [EPISODE-2]
it('a run goes on when its server is back; what was lost has no reward', async () => {
  const port = await freePort()
  const start = () => spawn(process.execPath, [program, String(port)], { stdio: 'ignore' })
  server = start()
  const set = [
    'tasks.0.weight=0.01', // its demonstrations show the call that the server's tool takes
    `tasks.1={task: far, from: openenv+http://127.0.0.1:${port}, turnLimit: 5}`,
    'rollout.groupSize=4',
    'rollout.groupsPerUpdate=4',
    'warmStart.epochs=10',
    'training.updates=6',
    'evaluation.suites=[{name: far, task: far, split: test, episodes: 8}]',
  ].flatMap((value) => ['--set', value])
  const running = startPerdure(home, 'train', 'examples/smoke.yaml', '--run', 'far', ...set)
  const ending = running.ended.then(({ code, stderr }) => {
    throw new Error(`it ended with ${code}: ${stderr}`)
  })
  const seen = (words: RegExp) => async () => (words.test(running.output()) ? true : undefined)
  await Promise.race([eventually('an update', () => updates()[0]), ending])
  server.kill('SIGKILL')
  await once(server, 'close')
  await Promise.race([eventually('a lost episode', seen(/episode ended without reward/)), ending])
  server = start()
  const { code, stderr } = await running.ended
  expect(code, stderr).toBe(0)
  expect(updates()).toHaveLength(6)
  const store = await openStore(join(home, 'store.db'))
  try {
    const groups = Array.from({ length: 24 }, (_, number) => groupId(runId('far'), number))
    const episodes = await Promise.all(groups.map((group) => store.episodes.list(group)))
    const lost = episodes.flat().filter(({ seal }) => seal?.outcome === 'infrastructure_error')
    expect(lost.map(({ seal }) => seal?.reward)).toEqual(lost.map(() => null))
    expect(lost.length).toBeGreaterThan(0)
  } finally {
    await store.close()
  }
}, 300_000)
