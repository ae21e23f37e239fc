/**
 * Fifty processes with sixteen container sessions each, killed at random points: what stays for a minute, and
 * what the reaper leaves.
 *
 * Invariants
 * - The counts are sums over all runs; what stays or is left by the reaper is a leak where it is not zero.
 * - Nothing speaks to the engine while containers end by themselves, and no clock is moved.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSandbox } from '../envs/sandbox/open.ts'
import { busyboxTar, startEngine } from '../test/container-engine.ts'
import { killedRun } from '../test/container-leaks.ts'
import type { Figure } from './figure.ts'

const runs = 50
const sessions = 16
const image = 'perdure-bench:1'

/** Runs the benchmark on an engine of its own, because all of its containers are counted. */
export async function bench(): Promise<Figure[]> {
  await using stack = new AsyncDisposableStack()
  const dir = mkdtempSync(join(tmpdir(), 'perdure-leaks-'))
  stack.defer(() => rmSync(dir, { recursive: true, force: true }))
  const engine = await startEngine()
  stack.defer(() => engine.close())
  const sandbox = await openSandbox({ engine: engine.address })
  await sandbox.importImage(image, busyboxTar())
  await sandbox.close()
  const before = { containers: 0, leases: 0, folders: 0 }
  const after = { containers: 0, leases: 0, folders: 0 }
  let stayed = 0
  let slowest = 0
  const kinds = ['containers', 'leases', 'folders'] as const
  for (let seed = 0; seed < runs; seed++) {
    const run = await killedRun({ address: engine.address, image }, join(dir, 'home'), { sessions, seed })
    stayed += run.stayed
    slowest = Math.max(slowest, run.seconds)
    for (const kind of kinds) {
      before[kind] += run.before[kind]
      after[kind] += run.after[kind]
    }
    console.error(`run ${seed + 1}: ${JSON.stringify(run)}`)
  }
  return [
    { name: 'containers that stayed for a minute', value: stayed, unit: 'containers' },
    { name: 'longest time until no container was left', value: slowest, unit: 's' },
    ...kinds.flatMap((kind) => [
      { name: `${kind} left by ${runs} killed processes`, value: before[kind], unit: kind },
      { name: `${kind} left by the reaper`, value: after[kind], unit: kind },
    ]),
  ]
}
