/**
 * Signals that meet a training run: which there are, and what becomes of the run.
 *
 * Invariants
 * - A case is the released command line in a home of its own, and ends with a run that was brought to its end.
 * - A signal is sent when the run's own files show the phase; one that never came is an error, not a case.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { processesOf } from '../../bench/chaos/deployment.ts'
import { uniforms } from '../../identity/identity.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { readMetrics } from '../../storage/metrics/metrics.testing.ts'
import { isUpdateMetrics } from '../../storage/metrics/metrics.ts'
import {
  type Ending,
  eventually,
  type PerdureProcess,
  removeHome,
  startPerdure,
  temporaryHome,
} from '../support/perdure-process.ts'

export const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
export const phases = [
  'set-up',
  'server start',
  'warm start',
  'sampling',
  'update',
  'publish',
  'evaluation',
  'end',
] as const

export interface SignalCase {
  readonly phase: (typeof phases)[number]
  readonly signal: (typeof signals)[number]
  readonly times: 1 | 2
  /** Decides at which moment of the phase. */
  readonly seed: number
}

/** Outcome of a case. */
export interface SignalOutcome {
  readonly code: number | null
  /** Lines that only a programmer understands. */
  readonly traces: readonly string[]
  /** Processes of the home after the command had ended. */
  readonly left: readonly string[]
  /** Whether the run went on to its end, with each update once. */
  readonly resumed: boolean
  /** Everything that was written, for a person who looks into it. */
  readonly output: string
}

const run = 'signalled'
const updates = 2
/** More than an echo of the first may be late. */
const betweenMs = 800
/** A phase lasts about as long on a quiet machine. */
const withinPhaseMs = 300
const waitMs = 600_000

/** Enough episodes to be met while they are evaluated. */
const settings = [`training.updates=${updates}`, 'evaluation.suites.0.episodes=24']

/** Plays a case in a home of its own, which it removes. */
export async function playCase(of: SignalCase): Promise<SignalOutcome> {
  const home = temporaryHome()
  try {
    return await playIn(home, of)
  } finally {
    removeHome(home)
  }
}

async function playIn(home: string, { phase, signal, times, seed }: SignalCase): Promise<SignalOutcome> {
  const first = start(home)
  try {
    await eventually(`the phase ${phase}`, () => (isIn(phase, home, first) ? true : undefined), waitMs)
    // Phases that pass in an instant are met at their beginning.
    if (phase !== 'publish' && phase !== 'end') await sleep(withinPhaseMs * uniforms(seed)())
    for (let sent = 0; sent < times; sent++) {
      if (sent > 0) await Promise.race([sleep(betweenMs), first.ended])
      first.child.kill(signal)
    }
    const ended = await first.ended
    // A server that is ending may still write its file back.
    const left = await eventually(
      'the processes to end',
      () => (processesOf(home).length === 0 ? [] : undefined),
      15_000,
    ).catch(() => processesOf(home))
    const again = await resume(home)
    const output = [ended.stdout, ended.stderr, '--- again', again.stdout, again.stderr].join('\n')
    return {
      code: ended.code,
      traces: tracesIn(`${ended.stdout}\n${ended.stderr}`),
      left,
      resumed: again.code === 0 && isWhole(home),
      output,
    }
  } finally {
    await first.killGroup()
  }
}

/** Signals a run to stop, and again after each message that it stops. @returns the code that its process ends with */
export async function signalUntilEnd(signal: SignalCase['signal']): Promise<number | null> {
  const home = temporaryHome()
  const stopping = start(home)
  try {
    await eventually('the set-up', () => (isIn('set-up', home, stopping) ? true : undefined), waitMs)
    stopping.child.kill(signal)
    await eventually('its last words', () => (stopping.output().includes('Next:') ? true : undefined), waitMs)
    const again = setInterval(() => stopping.child.kill(signal), 1)
    const { code } = await stopping.ended
    clearInterval(again)
    return code
  } finally {
    await stopping.killGroup()
    removeHome(home)
  }
}

function start(home: string): PerdureProcess {
  const set = settings.flatMap((setting) => ['--set', setting])
  return startPerdure(home, 'train', 'test/support/whole-pipeline.yaml', '--run', run, ...set)
}

/** Continues with the run, or starts it where nothing had begun. */
async function resume(home: string): Promise<Ending> {
  const ended = await startPerdure(home, 'resume', run).ended
  return ended.code === 2 ? start(home).ended : ended
}

/** Every update once, in order. */
function isWhole(home: string): boolean {
  const steps = readMetrics(homeAt(home).run(run as never).metricsFile).filter(isUpdateMetrics)
  return steps.map(({ step }) => step).join() === Array.from({ length: updates }, (_, i) => i + 1).join()
}

function tracesIn(output: string): readonly string[] {
  return output
    .split('\n')
    .filter((line) =>
      /^\s+at .+[:(]|\b\w*Error\b|Napi|terminate called|core dumped|UnhandledPromise/.test(line),
    )
}

function isIn(phase: SignalCase['phase'], home: string, { child, output }: PerdureProcess): boolean {
  switch (phase) {
    case 'set-up':
      return listens(child.pid)
    case 'server start':
      return existsSync(join(home, 'temporal.json')) && !output().includes('listens on')
    case 'warm start':
      return hasWarmStarted(home)
    case 'sampling':
      return holds(home, `select 1 from actions where episode like '${run}/g%'`)
    case 'update':
      return holds(home, 'select 1 from groups where consumed_by = 1')
    case 'publish':
      return holds(home, 'select 1 from updates')
    case 'evaluation':
      return holds(home, `select 1 from actions where episode like '${run}/e-%'`)
    case 'end':
      return holds(home, `select 1 from runs where status = 'done'`)
  }
}

/** Before its first lines have run, a process ends of a signal as every program does. */
function listens(pid: number | undefined): boolean {
  if (process.platform !== 'linux') return true
  const caught = /SigCgt:\s+([0-9a-f]+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  // Node itself catches the other two.
  const hangUp = 1n
  return caught !== undefined && (BigInt(`0x${caught}`) & hangUp) !== 0n
}

function hasWarmStarted(home: string): boolean {
  const { checkpointsDir } = homeAt(home).run(run as never)
  return existsSync(checkpointsDir) && readdirSync(checkpointsDir).includes('warm-0')
}

/** Whether a query of the store finds something; a store that is not there yet holds nothing. */
function holds(home: string, query: string): boolean {
  const { storeFile } = homeAt(home)
  if (!existsSync(storeFile)) return false
  try {
    using store = new DatabaseSync(storeFile, { readOnly: true })
    return store.prepare(`${query} limit 1`).get() !== undefined
  } catch {
    return false // its tables are being made
  }
}
