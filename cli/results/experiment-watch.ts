/**
 * Watches an experiment until its runs have ended or the person leaves.
 *
 * Invariants
 * - Looking never changes it; a look that fails is tried again.
 * - Where there is no terminal, a line is written when a run begins, reaches another part, or ends.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ExperimentRunCourse } from '../../client/experiment/experiments.ts'
import type { RunProgress, TrainingSession } from '../../client/session/training-session.ts'
import { Fault } from '../../faults/fault.ts'
import { reasonOf } from '../../faults/reason.ts'
import type { RunId } from '../../identity/identity.ts'
import { episodeCountWords, isComplete } from '../../learning/evaluation/evaluation-completeness.ts'
import { percent } from '../../learning/statistics/percent.ts'
import type { Terminal } from '../terminal/terminal.ts'

// An experiment lasts for minutes at least.
const lookEveryMs = 2_000
/** Evaluations of these are enough to be followed line by line. */
const tenths = 10

/** The workers of this process ended while the experiment is in progress. */
class WorkersLeft extends Fault<'workers_stopped'> {
  override readonly name = 'WorkersLeft'
}

/**
 * @param of.elsewhere runs that are done elsewhere
 * @param interrupted aborts when the person wants to leave
 * @returns whether all runs have ended
 * @throws what `experimentResult` throws, or WorkersLeft when no worker is left
 */
export async function watchExperiment(
  session: Pick<TrainingSession, 'experimentCourse' | 'experimentResult' | 'stopped'>,
  { name, elsewhere }: { readonly name: string; readonly elsewhere: readonly RunId[] },
  terminal: Terminal,
  interrupted: AbortSignal,
): Promise<boolean> {
  const stop = new AbortController()
  let said: ReadonlyMap<string, string> = new Map()

  function show(all: readonly ExperimentRunCourse[]): void {
    const courses = all.filter(({ run }) => !elsewhere.includes(run))
    if (terminal.interactive) terminal.draw(courses.map((course) => ` ${lineOf(course)}`))
    const now = new Map(courses.map((course) => [course.run as string, milestone(course)]))
    if (!terminal.interactive)
      for (const course of courses)
        if (course.status !== 'waiting' && said.get(course.run) !== now.get(course.run))
          terminal.say(lineOf(course))
    said = now
  }

  async function look(): Promise<void> {
    let failures = 0
    while (!stop.signal.aborted) {
      try {
        const courses = await session.experimentCourse(name)
        if (stop.signal.aborted) return
        failures = 0
        show(courses)
      } catch (error) {
        failures++
        if (failures === 5) terminal.say(`no answer for a while; still waiting (${reasonOf(error)})`)
      }
      await sleep(lookEveryMs, undefined, { signal: stop.signal }).catch(() => undefined)
    }
  }

  const left = new Promise<false>((resolve) => {
    if (interrupted.aborted) resolve(false)
    interrupted.addEventListener('abort', () => resolve(false), { once: true })
  })
  const deserted = session.stopped.then((): false => {
    if (interrupted.aborted) return false
    throw new WorkersLeft(
      'workers_stopped',
      `the workers of this process stopped before experiment ${name} ended; the same command continues it`,
    )
  })
  const looking = look()
  try {
    const ended = await Promise.race([
      session.experimentResult(name, elsewhere).then(() => true),
      left,
      deserted,
    ])
    stop.abort()
    if (ended) show(await session.experimentCourse(name))
    else terminal.say('stopping cleanly; Ctrl-C again does not wait')
    return ended
  } finally {
    stop.abort()
    await looking
    terminal.settle()
  }
}

/** A new line is printed when this text changes. */
function milestone({ status, progress }: ExperimentRunCourse): string {
  if (progress === undefined) return status
  const { phase, step, updates, warmStart, evaluations } = progress
  const part = phase === 'warm_start' ? warmStart?.done : Math.floor((step * tenths) / Math.max(1, updates))
  return `${phase} ${part} ${evaluations.length}`
}

/** A run in one line. */
function lineOf({ run, status, detail, progress }: ExperimentRunCourse): string {
  if (progress === undefined) return [run, status, detail].filter((word) => word !== undefined).join('  ')
  const { phase, step, updates, warmStart, evaluations, pauseReason, warning } = progress
  const made =
    phase === 'warm_start'
      ? `part ${warmStart?.done ?? 0} of ${warmStart?.total ?? '?'}`
      : `update ${step} of ${updates}`
  const latest = evaluations.at(-1)
  const measured = latest === undefined ? [] : [`${latest.suite} v${latest.version} ${latestWords(latest)}`]
  const words = [run, phase.replace('_', ' '), made, ...measured, pauseReason, warning]
  return words.filter((word) => word !== undefined).join('  ')
}

function latestWords(found: RunProgress['evaluations'][number]): string {
  return isComplete(found) ? percent(found.success) : episodeCountWords(found)
}
