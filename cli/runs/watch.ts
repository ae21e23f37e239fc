/**
 * Watches a run until it ends or the person leaves.
 *
 * Invariants
 * - Looking never changes the run; a look that fails is reported and tried again.
 * - Ends with what the run itself answers when it is over, not with the last look.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { RunProgress, TrainingSession } from '../../client/session/training-session.ts'
import { Fault } from '../../faults/fault.ts'
import { reasonOf } from '../../faults/reason.ts'
import { painted, type Terminal } from '../terminal/terminal.ts'
import { plainLines, renderLive } from './live-view.ts'
import { PaceMeter } from './pace.ts'

// Often enough to feel live, rare enough to cost nothing beside the run.
const lookEveryMs = 1000

/** Said at the first signal. */
export const stoppingWords = 'stopping cleanly; Ctrl-C again does not wait'

/** The workers of this process ended while the run is in progress. */
class WorkersStopped extends Fault<'workers_stopped'> {
  override readonly name = 'WorkersStopped'

  constructor(run: string) {
    super(
      'workers_stopped',
      `the workers of this process stopped before run ${run} ended; \`perdure resume ${run}\` continues it`,
    )
  }
}

/** How watching ended. */
export type WatchResult =
  | { readonly ended: true; readonly progress: RunProgress }
  | { readonly ended: false; readonly progress: RunProgress | undefined }

/**
 * @param interrupted aborts when the person wants to leave
 * @param of.page where `perdure ui` shows the run
 * @throws what `session.result` throws, or a WorkersStopped when no worker is left for the run
 */
export async function watchRun(
  session: Pick<TrainingSession, 'progress' | 'result' | 'stopped' | 'uiUrl'>,
  run: string,
  terminal: Terminal,
  interrupted: AbortSignal,
  { page, now = Date.now }: { readonly page?: string | undefined; readonly now?: () => number } = {},
): Promise<WatchResult> {
  const meter = new PaceMeter()
  const stop = new AbortController()
  let last: RunProgress | undefined
  let failures = 0

  function show(progress: RunProgress, notice?: string): void {
    const at = now()
    const state = { progress, now: at, uiUrl: session.uiUrl, page, notice, ...meter.observe(progress, at) }
    if (terminal.interactive) terminal.draw(painted(renderLive(state, terminal)))
    else for (const line of plainLines(last, state)) terminal.say(line)
    last = progress
  }

  async function look(): Promise<void> {
    while (!stop.signal.aborted) {
      try {
        const progress = await session.progress(run)
        if (stop.signal.aborted) return
        failures = 0
        show(progress)
      } catch (error) {
        failures++
        // One missed look is a busy worker; more are worth a word, once.
        if (failures === 5)
          terminal.say(`no answer from run ${run} for a while; still waiting (${reasonOf(error)})`)
      }
      await sleep(lookEveryMs, undefined, { signal: stop.signal }).catch(() => undefined)
    }
  }

  const left = new Promise<undefined>((resolve) => {
    if (interrupted.aborted) resolve(undefined)
    interrupted.addEventListener('abort', () => resolve(undefined), { once: true })
  })
  const deserted = session.stopped.then(() => {
    // Ctrl-C may reach the workers too; then this is the clean stop that was asked for.
    if (interrupted.aborted) return undefined
    throw new WorkersStopped(run)
  })
  const looking = look()
  try {
    const result = await Promise.race([session.result(run), left, deserted])
    stop.abort()
    if (result === undefined) {
      if (last !== undefined) show(last, stoppingWords)
      return { ended: false, progress: last }
    }
    show(result)
    return { ended: true, progress: result }
  } finally {
    stop.abort()
    await looking
    terminal.settle()
  }
}
