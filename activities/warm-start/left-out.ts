/**
 * Left-out instances: instances that cannot be played, while others can.
 *
 * Invariants
 * - [LEFT-OUT-1] An instance on which the environment's own code fails is left out, counted and reported, and the work goes on.
 * - [LEFT-OUT-2] Where nothing but failures comes for a while, or in the end, the work ends with the last failure.
 * - A failure of the environment's own server or container engine is thrown: it comes back, and the work is tried again.
 */
import { EnvironmentFault } from '../../envs/contract/environment.ts'

/** Failures that the next instance need not share. */
const isolated: ReadonlySet<EnvironmentFault['kind']> = new Set([
  'failed',
  'no_answer',
  'session_lost',
  'bad_data',
  'unknown_instance',
])
/** A process or a call to elsewhere may fail once by chance. */
const triedAgain: ReadonlySet<EnvironmentFault['kind']> = new Set(['failed', 'session_lost'])
/** Failures in a row that end the work. By chance so many fail only where nearly all do. */
const mostFailures = 16
const reportedInFull = 3
/** Instances without an answer in a row that end the work; each costs its whole time limit. */
const mostHanging = 3

export interface LeftOut {
  readonly count: number
  /** Does work on an instance; undefined where it is left out. @throws EnvironmentFault `none_playable` */
  playing<T>(work: () => Promise<T>): Promise<{ readonly result: T } | undefined>
  /** Ends the work where nothing but failures came. @throws EnvironmentFault `none_playable` */
  requireOne(): void
}

/**
 * @param aim what the instances are played for, in words that follow "for"
 * @param report receives a sentence for each instance that is left out
 */
export function createLeftOut(
  aim: string,
  report: (sentence: string, count: number) => void = () => undefined,
): LeftOut {
  let [count, inARow, hanging, played] = [0, 0, 0, 0]
  let last: EnvironmentFault | undefined

  function leaveOut(fault: EnvironmentFault): void {
    last = fault
    count += 1
    inARow += 1
    hanging = fault.kind === 'no_answer' ? hanging + 1 : 0
    // The first reports show the cause, the later ones the count.
    if (count <= reportedInFull || Number.isInteger(Math.log2(count)))
      report(`an instance is left out of ${aim} (${count} so far): ${fault.message}`, count)
    if (inARow >= mostFailures || hanging >= mostHanging) throw nonePlayable(fault)
  }

  function nonePlayable(cause: EnvironmentFault): EnvironmentFault {
    const message = `no instance can be played for ${aim}: ${inARow} in a row failed, the last one so: ${cause.message}`
    return new EnvironmentFault('none_playable', message, { cause })
  }

  return {
    get count() {
      return count
    },
    async playing(work) {
      for (let tries = 1; ; tries++)
        try {
          const result = await work()
          played += 1
          inARow = 0
          hanging = 0
          return { result }
        } catch (fault) {
          if (!(fault instanceof EnvironmentFault) || !isolated.has(fault.kind)) throw fault
          if (tries === 1 && triedAgain.has(fault.kind)) continue
          leaveOut(fault)
          return undefined
        }
    },
    requireOne() {
      if (played === 0 && last !== undefined) throw nonePlayable(last)
    },
  }
}
