/**
 * Work: which run, group, episode and turn a workflow or an activity is about.
 *
 * Invariants
 * - It follows from the workflow's id and the activity's argument alone: it is never attached by hand.
 * - It names no home: a process works for one alone.
 */
import { z } from 'zod'
import { parseWorkflowId } from '../identity/identity.ts'

/** The run, group, episode and other work that a piece of work belongs to. */
export interface Work {
  readonly run?: string
  readonly group?: string
  readonly evaluation?: string
  readonly episode?: string
  readonly turn?: number
  /** The update, from 1. */
  readonly step?: number
}

const sample = String.raw`/s\d+/a\d+`
const branch = String.raw`/b\d+-v\d+`
/** Run; group or evaluation; episode, which may be a branch's; branch, which is no episode itself. */
const idPattern = new RegExp(
  `^(([^/]+)(?:/(?:(g\\d+)|(e-[^/]+)))?)(${sample}(?:${branch}${sample})*)?(?:${branch})?$`,
)

/** The work that a workflow of that id belongs to; empty for ids that are not ours. @param workflowId with its home or without */
export function workOfWorkflow(workflowId: string): Work {
  const { id } = parseWorkflowId(workflowId)
  const match = idPattern.exec(id)
  if (match === null) {
    const [run] = id.split('/schedule-')
    return run === undefined || run === id ? {} : { run }
  }
  const [, parent = '', run = '', group, evaluation, episode] = match
  return {
    run,
    ...(group === undefined ? {} : { group: parent }),
    ...(evaluation === undefined ? {} : { evaluation: parent }),
    ...(episode === undefined ? {} : { episode: `${parent}${episode}` }),
  }
}

const argumentSchema = z.object({
  turn: z.int().optional().catch(undefined),
  step: z.int().optional().catch(undefined),
})

/** The work that an activity of that workflow with that argument belongs to. */
export function workOfActivity(workflowId: string, argument: unknown): Work {
  const work = workOfWorkflow(workflowId)
  const { data } = argumentSchema.safeParse(argument)
  if (data === undefined) return work
  return {
    ...work,
    ...(data.turn === undefined ? {} : { turn: data.turn }),
    ...(data.step === undefined ? {} : { step: data.step }),
  }
}
