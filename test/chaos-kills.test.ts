/** The chaos harness at work: real processes, killed in each way once. `npm test -- --chaos` makes more instead. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { faultKinds } from '../bench/chaos/faults.ts'
import type { Report } from '../bench/chaos/report.ts'

it('a deployment that is killed eight times in eight ways loses, doubles and leaves nothing', async () => {
  // Two kinds kill the trainer; the one that hits it while it writes is enough.
  const kinds = faultKinds.filter((kind) => kind.startsWith('kill-') && kind !== 'kill-trainer')
  const { code, report, progress } = await chaos('--each', '1', '--seed', '5', '--kinds', kinds.join(','))
  expect({ code, report, progress }).toMatchObject({ code: 0, report: { lost: 0, doubled: 0, left: 0 } })
  expect(Object.keys(report.faults).toSorted()).toEqual(kinds.toSorted())
  expect(report.recoverySeconds.p50).toBeGreaterThan(0)
}, 900_000)

async function chaos(...flags: string[]): Promise<{ code: number | null; report: Report; progress: string }> {
  const program = fileURLToPath(new URL('../bench/chaos/run.ts', import.meta.url))
  const child = spawn(process.execPath, [program, ...flags], { stdio: ['ignore', 'pipe', 'pipe'] })
  let [output, progress] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    progress += chunk.toString()
  })
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { code, report: JSON.parse(output.trim().split('\n').at(-1) ?? '') as Report, progress }
}
