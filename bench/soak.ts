/**
 * The growth of a long run: resident memory of the process and of the server, and the length of histories.
 *
 * Invariants
 * - The run is the tests' whole pipeline with nothing replaced, but longer: 50 updates.
 * - Memory is read at the same point of each update, so that the figures can be compared.
 * - The reference of a later figure is the one at update 25: a ratio near 1 says that it has levelled off.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openSession, type RunProgress, type TrainingSession } from '../client/session/training-session.ts'
import { loadConfig } from '../config/files/loader.ts'
import { inspectTemporal } from '../temporal/server/server.ts'
import { withClient } from '../test/support/executions.ts'
import type { Figure } from './figure.ts'
import { residentMegabytesOf } from './measured/cpu-time.ts'

const run = 'soak'
const updates = 50
const readAt = [10, 25, 40, 50]
/** Low enough that the run continues as new several times. */
const historyEvents = 500

/** Megabytes at the end of an update. */
interface Memory {
  readonly step: number
  readonly process: number
  readonly server: number
}

/** Runs the benchmark, a few minutes. */
export async function bench(): Promise<Figure[]> {
  const home = await mkdtemp(join(tmpdir(), 'perdure-bench-'))
  try {
    const session = await openSession({ home, roles: 'all', log: (line) => console.error(line) })
    try {
      const config = loadConfig({
        file: fileURLToPath(new URL('../test/support/whole-pipeline.yaml', import.meta.url)),
        set: [`training.updates=${updates}`, `orchestration.historyEvents=${historyEvents}`],
      })
      const started = performance.now()
      await session.start(run, config)
      const memory = await watchMemory(session, home)
      const { step } = await session.result(run)
      if (step !== updates) throw new Error(`the run ended after ${step} of ${updates} updates`)
      const seconds = (performance.now() - started) / 1000
      return [
        ...memoryFigures(memory),
        ...(await historyFigures(home)),
        { name: 'seconds', value: seconds, unit: 's' },
      ]
    } finally {
      await session.close()
    }
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}

/** Reads memory once per update until the run ends. */
async function watchMemory(session: TrainingSession, home: string): Promise<readonly Memory[]> {
  const server = (await inspectTemporal(home))?.record.pid
  const readings: Memory[] = []
  for (;;) {
    const progress: RunProgress = await session.progress(run)
    if (progress.phase === 'failed') throw new Error(`the run failed: ${progress.message}`)
    if (progress.step > (readings.at(-1)?.step ?? 0)) {
      const reading = {
        step: progress.step,
        process: process.memoryUsage.rss() / 1e6,
        server: server === undefined ? Number.NaN : await residentMegabytesOf(server),
      }
      readings.push(reading)
      if (progress.step % 5 === 0)
        console.error(
          `update ${reading.step}: process ${reading.process.toFixed(0)} MB, server ${reading.server.toFixed(0)} MB`,
        )
    }
    if (progress.phase === 'done') return readings
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

function memoryFigures(readings: readonly Memory[]): Figure[] {
  const at = (step: number) => readings.findLast((reading) => reading.step <= step) ?? readings[0]
  return (['process', 'server'] as const).flatMap((which) => {
    const reference = at(25)?.[which] ?? Number.NaN
    return readAt.map((step): Figure => {
      const value = at(step)?.[which] ?? Number.NaN
      const named = { name: `${which} resident at update ${step}`, value, unit: 'MB' }
      return step <= 25 ? named : { ...named, reference, ratio: value / reference }
    })
  })
}

/** The longest history of each type, and how often the run continued as new. */
function historyFigures(home: string): Promise<Figure[]> {
  return withClient(home, async ({ workflow }) => {
    const longest = new Map<string, number>()
    let links = 0
    for await (const { type, workflowId, historyLength } of workflow.list()) {
      longest.set(type, Math.max(longest.get(type) ?? 0, historyLength))
      if (workflowId === run) links += 1
    }
    return [
      ...[...longest].map(([type, value]) => ({ name: `longest history of ${type}`, value, unit: 'events' })),
      { name: 'continued as new', value: links - 1, unit: 'times' },
    ]
  })
}
