/**
 * The audit of a run: whether each piece of its work was done exactly once, from store, checkpoints and histories.
 *
 * Invariants
 * - It trusts no summary: trajectories are read against their seals, checkpoints against their manifests,
 *   groups against the executions that played them and the updates that consumed them.
 */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { TrainingState } from '../../contract/training-state.ts'
import {
  type EpisodeId,
  type EvaluationId,
  type GroupId,
  groupId,
  parseEpisodeId,
  type RunId,
} from '../../identity/identity.ts'
import { isRewarded } from '../../learning/evaluation/outcome.ts'
import { verifyCheckpoint } from '../../policy/checkpoints/checkpoint.ts'
import { publishedVersions } from '../../policy/checkpoints/versions.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { readMetrics } from '../../storage/metrics/metrics.testing.ts'
import { isUpdateMetrics } from '../../storage/metrics/metrics.ts'
import type { Store } from '../../storage/store.ts'
import { isSealed } from '../../storage/trajectories/episode.ts'
import type { Again, Execution } from './history.ts'
import type { Finished } from './observer.ts'

/** The findings of an audit, each a sentence. */
export interface Findings {
  /** Work that is missing, or is not what it was. */
  readonly lost: string[]
  readonly doubled: string[]
  /** Unused resources that were not removed. */
  readonly left: string[]
}

export function noFindings(): Findings {
  return { lost: [], doubled: [], left: [] }
}

export interface Audited {
  readonly home: string
  readonly store: Store
  readonly executions: readonly Execution[]
  /** Workflow ids of what was ended by hand. */
  readonly ended?: ReadonlySet<string>
}

/** Audits one ended run. */
export async function auditRun(
  run: RunId,
  { home, store, executions, ended = new Set() }: Audited,
): Promise<Findings> {
  const findings = noFindings()
  const isEnded = (id: string) =>
    ended.has(id) || [...ended].some((each) => each !== run && id.startsWith(`${each}/`))
  const mine = executions.filter(({ workflowId }) => workflowId === run || workflowId.startsWith(`${run}/`))
  await auditUpdates(run, home, store, findings)
  const played = executionsOfGroups(mine)
  const due = await dueGroups(run, store, played.keys())
  await auditGroups(run, store, { played, due, isEnded }, findings)
  await auditEvaluations(store, mine, findings)
  await auditEpisodes(run, store, due, findings)
  await auditCheckpoints(run, home, findings)
  for (const { workflowId, status } of mine)
    if (status !== 'COMPLETED' && status !== 'CONTINUED_AS_NEW' && !isEnded(workflowId))
      findings.lost.push(`workflow ${workflowId} ended as ${status}`)
  return findings
}

/** Steps 1 … n, each once, each group in one of them. */
async function auditUpdates(run: RunId, home: string, store: Store, found: Findings): Promise<void> {
  const updates = await store.updates.list(run)
  const state = (await store.runs.state(run)) as TrainingState | undefined
  if (state === undefined || state.step !== updates.length)
    found.lost.push(`run ${run} counts ${state?.step ?? 'no'} updates, the store has ${updates.length}`)
  for (const [index, { step }] of updates.entries())
    if (step !== index + 1) found.lost.push(`update ${index + 1} of run ${run} is missing, ${step} follows`)
  const owner = new Map<string, number>()
  for (const { step, groups } of updates)
    for (const group of groups) {
      const before = owner.get(group)
      if (before !== undefined) found.doubled.push(`group ${group} is in updates ${before} and ${step}`)
      owner.set(group, step)
      const consumedBy = (await store.groups.get(group))?.consumedBy
      if (consumedBy !== step)
        found.lost.push(`group ${group} of update ${step} is marked as consumed by ${consumedBy ?? 'none'}`)
    }
  for (const { id, consumedBy } of await store.groups.list(run, { consumed: true }))
    if (owner.get(id) !== consumedBy)
      found.lost.push(`group ${id} is marked as consumed by update ${consumedBy}, which does not list it`)
  const lines = readMetrics(homeAt(home).run(run).metricsFile).filter(isUpdateMetrics)
  const steps = new Set<number>()
  for (const { step } of lines) {
    if (steps.has(step)) found.doubled.push(`metrics of run ${run} have two lines of step ${step}`)
    steps.add(step)
  }
  for (const { step } of updates)
    if (!steps.has(step)) found.lost.push(`metrics of run ${run} have no line of step ${step}`)
}

/** Groups as the server has them. */
interface PlayedGroups {
  /** Executions of each group, by its id. */
  readonly played: ReadonlyMap<string, number>
  readonly due: ReadonlySet<GroupId>
  readonly isEnded: (id: string) => boolean
}

function executionsOfGroups(executions: readonly Execution[]): ReadonlyMap<string, number> {
  const played = new Map<string, number>()
  for (const { workflowId, type } of executions)
    if (type === 'rolloutGroup') played.set(workflowId, (played.get(workflowId) ?? 0) + 1)
  return played
}

/** Every admitted group played by one execution, ended once, with the episodes that it should have. */
async function auditGroups(
  run: RunId,
  store: Store,
  { played, due, isEnded }: PlayedGroups,
  found: Findings,
): Promise<void> {
  const state = (await store.runs.state(run)) as TrainingState | undefined
  const groups = new Map((await store.groups.list(run)).map((group) => [group.id, group]))
  const owner = new Map<EpisodeId, string>()
  const numbers = Math.max(state?.nextGroup ?? 0, ...[...groups.values()].map(({ number }) => number + 1))
  for (let number = 0; number < numbers; number++) {
    const id = groupId(run, number)
    const group = groups.get(id)
    if (due.has(id)) continue
    const times = played.get(id) ?? 0
    // A group that was ended by hand while the run was away is begun again under its identity.
    if (times > 1 && !isEnded(id)) found.doubled.push(`group ${id} was played by ${times} executions`)
    if (group?.result === undefined || times === 0) {
      found.lost.push(
        `group ${id} has ${times} executions and ${group === undefined ? 'no entry' : `status ${group.status}`}; the next group is ${state?.nextGroup}`,
      )
      continue
    }
    const { status, episodes, rewards } = group.result
    if (status === 'abandoned' && !isEnded(id)) found.lost.push(`group ${id} was given up`)
    for (const [index, episode] of episodes.entries()) {
      const before = owner.get(episode)
      if (before !== undefined) found.doubled.push(`episode ${episode} is in ${before} and ${id}`)
      owner.set(episode, id)
      const seal = (await store.episodes.get(episode))?.seal
      if (parseEpisodeId(episode).parent !== id)
        found.lost.push(`group ${id} has a foreign episode ${episode}`)
      if (seal === undefined || !isRewarded(seal.outcome) || seal.reward !== rewards[index])
        found.lost.push(
          `episode ${episode} of group ${id} ended as ${seal?.outcome ?? 'never'} with reward ${seal?.reward}, the group has ${rewards[index]}`,
        )
    }
  }
}

/**
 * Groups that the run plays again when it is resumed. A run that is stopped while it continues from a store that lost its last second
 * ends with the state of the store, which has not admitted these groups yet.
 * @param played ids of groups that an execution has played
 */
async function dueGroups(run: RunId, store: Store, played: Iterable<string>): Promise<ReadonlySet<GroupId>> {
  const state = (await store.runs.state(run)) as TrainingState | undefined
  const entries = new Set<string>((await store.groups.list(run)).map(({ id }) => id))
  const last = Math.max(-1, ...Array.from(played, (id) => Number(id.split('/g')[1])))
  const due = new Set<GroupId>()
  for (let number = state?.nextGroup ?? Infinity; number <= last; number++) {
    const id = groupId(run, number)
    if (!entries.has(id)) due.add(id)
  }
  return due
}

/** Every evaluation that was begun has a result. */
async function auditEvaluations(
  store: Store,
  executions: readonly Execution[],
  found: Findings,
): Promise<void> {
  const begun = new Set(
    executions.flatMap(({ workflowId, type }) => (type === 'evaluation' ? [workflowId as EvaluationId] : [])),
  )
  for (const id of begun)
    if ((await store.evaluations.get(id))?.result === undefined)
      found.lost.push(`evaluation ${id} has no result`)
}

/** Every episode sealed, with all its turns, and no reward without an ending of its own. */
async function auditEpisodes(
  run: RunId,
  store: Store,
  due: ReadonlySet<GroupId>,
  found: Findings,
): Promise<void> {
  const { running: open = 0 } = await store.episodes.count(run)
  let running = open
  for (const group of due)
    running -= (await store.episodes.list(group)).filter((each) => !isSealed(each)).length
  if (running > 0) found.left.push(`${running} episodes of run ${run} are not sealed`)
  let after: EpisodeId | '' = ''
  for (;;) {
    const page = await store.episodes.page(run, after, 200)
    for (const { id, seal } of page) {
      const rewarded = isRewarded(seal.outcome)
      if (rewarded !== (seal.reward !== null))
        found.lost.push(`episode ${id} ended as ${seal.outcome} with reward ${seal.reward}`)
      try {
        const { lossMask, versions } = await store.episodes.trajectory(id)
        const sampled = lossMask.reduce((sum, counts) => sum + counts, 0)
        if (sampled !== seal.actionTokens)
          found.lost.push(`episode ${id} has ${sampled} of ${seal.actionTokens} tokens`)
        if (versions.some((version, at) => version >= 0 !== (lossMask[at] === 1)))
          found.lost.push(`episode ${id} has tokens of no version`)
      } catch (error) {
        found.lost.push(String(error))
      }
    }
    const last = page.at(-1)
    if (last === undefined) return
    after = last.id
  }
}

/** Every checkpoint whole, and no unfinished file beside them. */
async function auditCheckpoints(run: RunId, home: string, found: Findings): Promise<void> {
  const { checkpointsDir, checkpointDir, dir } = homeAt(home).run(run)
  for (const version of await publishedVersions(checkpointsDir)) {
    try {
      await verifyCheckpoint(checkpointDir(version))
    } catch (error) {
      found.lost.push(String(error))
    }
  }
  if (!existsSync(dir)) return
  for (const name of readdirSync(dir, { recursive: true, encoding: 'utf8' }))
    if (/\.partial(\/|$)/.test(name)) found.left.push(`unfinished: ${join(dir, name)}`)
}

/** Compares the finished work of some moment with the end: it must be there, and the same. */
export function auditFinished(remembered: Finished, now: Finished): Findings {
  const findings = noFindings()
  for (const [key, digest] of remembered) {
    const after = now.get(key)
    if (after === undefined) findings.lost.push(`${key} was finished and is gone`)
    else if (after !== digest) findings.doubled.push(`${key} was finished and was done again otherwise`)
  }
  return findings
}

const none: Again = { activities: 0, attempts: 0 }

/** Counts of work that was begun again. */
export interface RedoneWork {
  /** Attempts at turns beyond the first. */
  readonly turns: number
  /** How many turns of an attempt were begun again, by episode. */
  readonly turnsOf: ReadonlyMap<string, number>
  /** Turns of attempts that lost their container or were ended in the UI; the next attempt plays the episode again. */
  readonly turnsOfLostAttempts: number
  /** Attempts at updates beyond the first. */
  readonly updates: number
}

/** Counts attempts beyond the first, and the turns that had them. */
export async function redoneWork(
  run: RunId,
  store: Store,
  executions: readonly Execution[],
): Promise<RedoneWork> {
  const turnsOf = new Map<string, number>()
  let [turns, turnsOfLostAttempts, updates] = [0, 0, 0]
  for (const { workflowId, type, again } of executions) {
    if (type === 'episode' && workflowId.startsWith(`${run}/`)) {
      const { activities, attempts } = again.get('sampleAction') ?? none
      turns += attempts
      if (activities > 0) turnsOf.set(workflowId, (turnsOf.get(workflowId) ?? 0) + activities)
    }
    if (workflowId === run) updates += (again.get('updatePolicy') ?? none).attempts
  }
  let after: EpisodeId | '' = ''
  for (;;) {
    const page = await store.episodes.page(run, after, 200)
    for (const { seal } of page)
      if (seal.outcome === 'infrastructure_error') turnsOfLostAttempts += seal.turns
    const last = page.at(-1)
    if (last === undefined)
      return { turns: turns + turnsOfLostAttempts, turnsOf, turnsOfLostAttempts, updates }
    after = last.id
  }
}
