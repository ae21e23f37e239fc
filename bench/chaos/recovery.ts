/**
 * Recovery: how long after a fault was taken back until what it hurt continues.
 *
 * Invariants
 * - Recovery shows in the work of the part that was hurt, not in that of others: every episode that was
 *   open continues, the run answers, the update in progress is done, the version is published.
 */
import type { FaultKind, Struck, Victim } from './faults.ts'
import type { Histories } from './history.ts'
import { eventually } from './waiting.ts'

/** Beyond this the deployment counts as dead. */
const recoverySeconds = 400
/** As long as the server looks for the worker that answered last. */
const answerMs = 20_000

/** @returns seconds since the fault was taken back. @throws ChaosFault when nothing continues any more */
export async function recovery(
  victim: Victim,
  histories: Histories,
  kind: FaultKind,
  struck: Struck,
): Promise<number> {
  const { observer, run, signal } = victim
  const before = { turns: observer.turns(), updates: observer.updates(run) }
  const goesOn = () => observer.turns() > before.turns || observer.updates(run) > before.updates
  const isPublished = () => !observer.isPublishing(run)
  const hasUpdated = () => observer.updates(run) > before.updates
  const isWhole = async (): Promise<boolean> => {
    if (observer.hasEnded(run)) return true
    switch (kind) {
      case 'kill-trainer':
      case 'kill-checkpoint':
      case 'freeze-trainer':
        return hasUpdated()
      case 'kill-publish':
        return goesOn() && isPublished()
      case 'kill-orchestrator':
      case 'freeze-orchestrator':
        return goesOn() && (await histories.answers(run, answerMs))
      case 'terminate-run':
        return goesOn() && (await histories.answers(run, answerMs))
      case 'terminate-group':
      case 'cancel-group':
        return goesOn() && (struck.workflow === undefined || observer.isGivenUp(struck.workflow))
      case 'terminate-evaluation':
        return (
          goesOn() && (struck.workflow === undefined || (await victim.hands.isDoneOrRuns(struck.workflow)))
        )
      default:
        return goesOn() && haveMoved(struck.open, observer.openEpisodes())
    }
  }
  await eventually(`work after ${kind}`, async () => ((await isWhole()) ? true : undefined), {
    seconds: recoverySeconds,
    signal,
  })
  return (performance.now() - struck.restored) / 1000
}

/** True when each of the episodes has a new turn or is sealed. */
function haveMoved(before: ReadonlyMap<string, number>, now: ReadonlyMap<string, number>): boolean {
  return [...before].every(([episode, turns]) => (now.get(episode) ?? Number.POSITIVE_INFINITY) > turns)
}
