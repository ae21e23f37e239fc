/**
 * Branches from outside: playing on from a turn of a recorded episode, for debugging and for search.
 *
 * Invariants
 * - The same turn, version and sample are played once; asking again finds the result.
 * - Only an episode whose task can be replayed and whose trajectory is whole is branched off.
 * - Nothing of a branch is ever part of an update, a group or an evaluation.
 */
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client'
import type { RunConfig } from '../../config/schema/schema.ts'
import { type BranchPlan, searchAttributes } from '../../contract/messages.ts'
import { priorityOf, taskQueue, workflowTaskTimeout } from '../../contract/task-queues.ts'
import type { EnvironmentDefinition } from '../../envs/contract/environment.ts'
import {
  type BranchId,
  branchId,
  type EpisodeId,
  type HomeName,
  ownServer,
  parseWorkflowId,
  type RunId,
  workflowIdOf,
} from '../../identity/identity.ts'
import type { Outcome } from '../../learning/evaluation/outcome.ts'
import { actionSummary } from '../../messages/action-summary.ts'
import type { Store } from '../../storage/store.ts'
import { type SealedEpisode, type StoredEpisode, samplesOf } from '../../storage/trajectories/episode.ts'
import { branchFacts } from '../../workflows/page/details.ts'
import type { branch } from '../../workflows/play/branch.ts'
import { episodeRules } from '../../workflows/play/evaluation-plan.ts'
import { ancestryOf, checkTurn, recordedEpisode } from './recorded-episode.ts'
import { resultOf as endOf, type SessionParts } from './run-calls.ts'
import { SessionFault } from './session-fault.ts'

export interface BranchWish {
  /** The first turn that is played again, from 0. */
  readonly turn: number
  /** How many continuations; 1 by default. */
  readonly samples?: number | undefined
  /** The version that plays on; the run's newest by default. */
  readonly version?: number | undefined
}

/** How an episode went, in one row. */
export interface EpisodeRow {
  readonly episode: EpisodeId
  readonly outcome: Outcome
  readonly reward: number | null
  readonly turns: number
  /** In a few words; null where nothing was played. */
  readonly lastAction: string | null
}

/** Results of a branch. */
export interface BranchFindings {
  readonly branch: BranchId
  readonly run: RunId
  readonly turn: number
  readonly version: number
  /** The recorded episode. */
  readonly origin: EpisodeRow
  /** In the order of samples; null where no attempt came to an end. */
  readonly samples: readonly (EpisodeRow | null)[]
}

export interface RunBranches {
  /** @throws SessionFault `unknown_run`, `unknown_episode`, `unknown_turn`, `unknown_version`, `not_replayable` */
  branch(episode: string, wish: BranchWish): Promise<BranchFindings>
}

interface BranchParts extends SessionParts {
  /** The environment of the task at that position of the task mix. */
  readonly definitionOf: (config: RunConfig, taskIndex: number) => Promise<EnvironmentDefinition>
}

export function createRunBranches(parts: BranchParts): RunBranches {
  return { branch: (episode, wish) => playBranch(parts, episode, wish) }
}

async function playBranch(
  parts: BranchParts,
  episode: string,
  { turn, samples = 1, version: wanted }: BranchWish,
): Promise<BranchFindings> {
  const { store, goodVersion } = parts
  const { origin, config, taskIndex } = await originOf(parts, episode)
  const { id, run, task } = origin
  await checkTurn(store, origin, turn)
  const newest = wanted ?? (await store.runs.version(run)) ?? 0
  const version = await goodVersion(run, newest)
  const from = { episode: id, turn }
  const parent = branchId(id, turn, version)
  const plan: Omit<BranchPlan, 'samples'> = {
    branch: parent,
    run,
    version,
    maxAttempts: config.rollout.maxAttempts,
    episode: {
      ...episodeRules(run, config, taskIndex),
      split: '',
      position: 0,
      from,
      versions: { kind: 'fixed', version },
      temperature: config.rollout.temperature,
    },
  }
  await playMissing(parts, plan, { samples, task })
  const played = await store.episodes.list(parent)
  const rows = samplesOf(played, { to: samples }).map(async ({ result, last }) => {
    const shown = result ?? last
    return shown === undefined ? null : rowOf(store, shown)
  })
  return {
    branch: parent,
    run,
    turn,
    version,
    origin: await rowOf(store, origin),
    samples: await Promise.all(rows),
  }
}

/** The recorded episode, when it can be branched off at all. */
async function originOf({ homeName, store, known, definitionOf }: BranchParts, named: string) {
  const episode = ownId(homeName, named)
  const { run } = ancestryOf(episode)
  const { config } = await known(run)
  const origin = await recordedEpisode(store, episode)
  const taskIndex = config.tasks.findIndex(({ task }) => task === origin.task)
  if (config.tasks[taskIndex]?.agent !== undefined)
    throw new SessionFault(
      'not_replayable',
      `episodes of ${origin.task} cannot be branched: an agent's own program plays them, from their beginning`,
    )
  const { replayable, replayableBecause } = await definitionOf(config, taskIndex)
  if (!replayable)
    throw new SessionFault(
      'not_replayable',
      `episodes of ${origin.task} cannot be branched, because they cannot be replayed: ${replayableBecause}`,
    )
  return { origin, config, taskIndex }
}

/** The stored id of an episode that was named by it or as in the UI. @throws SessionFault `unknown_episode` */
function ownId(homeName: HomeName, named: string): string {
  const { home, id } = parseWorkflowId(named)
  if (home === ownServer || home === homeName) return id
  const own = homeName === ownServer ? 'has a server of its own' : `is known there as ${homeName}`
  throw new SessionFault(
    'unknown_episode',
    `episode ${named} is one of another home, ${home}; this one ${own}`,
  )
}

/** Plays the samples that have no result yet; those that another call is playing are waited for. */
async function playMissing(
  parts: BranchParts,
  plan: Omit<BranchPlan, 'samples'>,
  { samples, task }: { readonly samples: number; readonly task: string },
): Promise<void> {
  const { client, homeName, store } = parts
  for (let isOwn = false; !isOwn; ) {
    const left = missing(await store.episodes.list(plan.branch), samples)
    if (left.length === 0) break
    isOwn = await start(parts, { ...plan, samples: left }, task)
    const playing = client.workflow.getHandle<typeof branch>(workflowIdOf(homeName, plan.branch))
    await endOf(`branch ${plan.branch}`, playing)
  }
}

/** Samples without a result, each with its first attempt that was not played before. */
function missing(played: readonly StoredEpisode[], samples: number): BranchPlan['samples'] {
  return samplesOf(played, { to: samples }).flatMap(({ sample, result, nextAttempt: attempt }) =>
    result === undefined ? [{ sample, attempt }] : [],
  )
}

/** @returns false where the same branch is being played already */
async function start({ client, homeName }: BranchParts, plan: BranchPlan, task: string): Promise<boolean> {
  try {
    await client.workflow.start<typeof branch>('branch', {
      workflowId: workflowIdOf(homeName, plan.branch),
      taskQueue: taskQueue('orchestrator', homeName),
      workflowTaskTimeout,
      args: [plan],
      priority: priorityOf('person', plan.run),
      staticSummary: `${task} · from turn ${plan.episode.from.turn} · version ${plan.version} · ${plan.samples.length} samples`,
      staticDetails: branchFacts(plan, { namespace: client.options.namespace, home: homeName }),
      typedSearchAttributes: [
        { key: searchAttributes.run, value: workflowIdOf(homeName, plan.run) },
        { key: searchAttributes.task, value: task },
        { key: searchAttributes.group, value: workflowIdOf(homeName, plan.branch) },
        { key: searchAttributes.version, value: plan.version },
      ],
    })
    return true
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error
    return false
  }
}

async function rowOf(store: Store, episode: SealedEpisode): Promise<EpisodeRow> {
  const { outcome, reward, turns } = episode.seal
  const last = turns === 0 ? undefined : await store.actions.get(episode.id, turns - 1)
  return {
    episode: episode.id,
    outcome,
    reward,
    turns,
    lastAction: last === undefined ? null : actionSummary(last.message),
  }
}
