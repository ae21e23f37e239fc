/**
 * Identities: the names of all work, used as storage keys and, with the name of their home before them where a server
 * is shared, as workflow ids.
 *
 * Invariants
 * - Every id is built here and nowhere else; no other module pastes an id together.
 * - [IDENTITY-1] Equal work has equal ids, in whatever process and however often it is asked for.
 * - [IDENTITY-2] An id tells its ancestors: `parseEpisodeId` gives back what `episodeId` was given.
 * - [IDENTITY-3] Seeds come from identities and the run's seed alone, never from clock, process or home.
 * - [IDENTITY-4] A run's name is no part of a seed: runs of one configuration and seed draw alike, whatever they are
 *   called.
 * - [IDENTITY-5] Homes that share a server have different names, so no workflow id of one is an id of another.
 * - This module is pure and safe inside workflows.
 */

declare const brand: unique symbol
type Branded<Kind extends string> = string & { readonly [brand]: Kind }

/** Name of a training run: letters, digits, `.`, `_`, `-`. */
export type RunId = Branded<'RunId'>
/** `<run>/g<number>`: one rollout group of a run. */
export type GroupId = Branded<'GroupId'>
/** `<run>/e-<suite>-v<version>-<ordinal>`: one evaluation of one checkpoint over one suite. */
export type EvaluationId = Branded<'EvaluationId'>
/** `<episode>/b<turn>-v<version>`: episodes that play on from a turn of a recorded episode with one version. */
export type BranchId = Branded<'BranchId'>
/** The work that episodes are samples of. */
export type ParentId = GroupId | EvaluationId | BranchId
/** `<group, evaluation or branch>/s<sample>/a<attempt>`: one multi-turn episode. */
export type EpisodeId = Branded<'EpisodeId'>
/** `<run>/schedule-<name>`: a schedule of evaluations. */
export type ScheduleId = Branded<'ScheduleId'>
/** Name of an experiment: lower-case letters, digits, `_`, `-`. */
export type ExperimentName = Branded<'ExperimentName'>
/** `<experiment>/experiment`: the workflow that does the runs of an experiment; it belongs to no run. */
export type ExperimentId = Branded<'ExperimentId'>
/** Every name that begins with a run's. */
export type WorkId = RunId | ParentId | EpisodeId | ScheduleId

/** Distinguishes a home's work from that of others on a server that they share; empty on a server of the home's own. */
export type HomeName = Branded<'HomeName'>

/** On a server that serves one home alone, work needs no name of its home. */
export const ownServer = '' as HomeName

const fleetPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/

/** True when the text can name processes that share a store: up to 32 letters, digits, `-`, `_`. */
export function isFleetName(text: string): boolean {
  return fleetPattern.test(text)
}

/**
 * The name of a home on a server that others may use too. It follows from its store and from the place where that lies,
 * so a copy of a home has another name; processes of a fleet share theirs wherever they see the store.
 * @param of.scope what the store is known by; @param of.place where it lies
 * @example homeName({ scope: 'f00d', place: '42' }) // 'p3xk0a'
 */
export function homeName(
  of: { readonly scope: string } & ({ readonly place: string } | { readonly fleet: string }),
) {
  const mark = (seedOf(0, of.scope, 'place' in of ? of.place : '') % 36 ** 6).toString(36).padStart(6, '0')
  return ('fleet' in of ? `${of.fleet}-${mark}` : mark) as HomeName
}

/** The id under which work of a home is on the server. @example workflowIdOf(home, groupId(run, 3)) // 'p3xk0a:demo/g3' */
export function workflowIdOf(home: HomeName, id: string): string {
  return home === ownServer ? id : `${home}:${id}`
}

/** Home and identity of what is under that id on the server. */
export function parseWorkflowId(workflowId: string): { readonly home: HomeName; readonly id: string } {
  const [, home = '', id = workflowId] = /^([A-Za-z0-9_-]+):(.*)$/s.exec(workflowId) ?? []
  return { home: home as HomeName, id }
}

const runNamePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/** True when the text can name a run. */
export function isRunName(text: string): boolean {
  return runNamePattern.test(text)
}

/** @throws RangeError when the text cannot name a run. */
export function runId(name: string): RunId {
  if (!isRunName(name))
    throw new RangeError(
      `"${name}" cannot name a run: use up to 64 letters, digits, ".", "_" or "-", starting with a letter or digit`,
    )
  return name as RunId
}

/**
 * A name for a run that was given none: what it was made of, and the time.
 * @example runNameAt('my run', new Date(0)) // 'my-run-19700101-000000'
 */
export function runNameAt(stem: string, at: Date): string {
  const plain = stem.replaceAll(/[^A-Za-z0-9._-]/g, '-')
  const stamp = at.toISOString().replaceAll(/[-:]/g, '').slice(0, 15).replace('T', '-')
  return `${/^[A-Za-z0-9]/.test(plain) ? plain.slice(0, 40) : 'run'}-${stamp}`
}

/** @example groupId(runId('demo'), 3) // 'demo/g3' */
export function groupId(run: RunId, number: number): GroupId {
  return `${run}/g${number}` as GroupId
}

/** The n-th evaluation of a version over a suite; a repeated one has the same id. */
export function evaluationId(run: RunId, suite: string, version: number, seed: number): EvaluationId {
  return `${run}/e-${suite}-v${version}-${seed}` as EvaluationId
}

/** Id of a schedule of evaluations. @example scheduleId(runId('demo'), 'held_out') // 'demo/schedule-held_out' */
export function scheduleId(run: RunId, name: string): ScheduleId {
  return `${run}/schedule-${name}` as ScheduleId
}

/** The workflow that a schedule starts; the server adds the time to it. */
export function scheduledId(schedule: ScheduleId): string {
  return `${schedule}/at`
}

/** Run and name of a schedule; undefined for another's id. */
export function parseScheduleId(id: string): { readonly run: RunId; readonly name: string } | undefined {
  const match = /^([^/]+)\/schedule-([a-z0-9_-]{1,60})$/.exec(id)
  if (match === null) return undefined
  const [, run = '', name = ''] = match
  return { run: run as RunId, name }
}

/** @throws RangeError when the text cannot name an experiment */
export function experimentName(name: string): ExperimentName {
  if (!/^[a-z0-9][a-z0-9_-]{0,30}$/.test(name))
    throw new RangeError(
      `"${name}" cannot name an experiment: use up to 31 lower-case letters, digits, "_" or "-", starting with a letter or digit`,
    )
  return name as ExperimentName
}

/** @example experimentId(experimentName('refill')) // 'refill/experiment' */
export function experimentId(name: ExperimentName): ExperimentId {
  return `${name}/experiment` as ExperimentId
}

/** The run of an arm and a seed; names of experiments and arms have no dot. @example 'refill.with.3' */
export function experimentRunId(name: ExperimentName, arm: string, seed: number): RunId {
  return runId(`${name}.${arm}.${seed}`)
}

/** True for an episode that waits where training wants the engine: of an evaluation or a branch. */
export function yieldsToTraining(episode: EpisodeId): boolean {
  return !/^[^/]+\/g\d+$/.test(parseEpisodeId(episode).parent)
}

/** @example episodeId(groupId(runId('demo'), 3), 0, 1) // 'demo/g3/s0/a1' */
export function episodeId(parent: ParentId, sample: number, attempt: number): EpisodeId {
  return `${parent}/s${sample}/a${attempt}` as EpisodeId
}

/** The first attempt at the sample of an episode. @example firstAttemptOf(episodeId(g, 2, 3)) // episodeId(g, 2, 0) */
export function firstAttemptOf(episode: EpisodeId): EpisodeId {
  const { parent, sample } = parseEpisodeId(episode)
  return episodeId(parent, sample, 0)
}

/** The episode whose draws another one has: the first attempt's at its sample where all attempts draw alike, else its own. */
export function drawnAs(episode: EpisodeId, attemptsDrawAlike: boolean): EpisodeId {
  return attemptsDrawAlike ? firstAttemptOf(episode) : episode
}

/** The key of a branch of an agent's episode; the first is the episode's own. @example agentBranchKey(…, 1) // 'demo/g3/s0/a1#1' */
export function agentBranchKey(episode: EpisodeId, branch: number): string {
  return branch === 0 ? episode : `${episode}#${branch}`
}

/** The episodes that a version plays from a turn on. @example branchId(…, 2, 5) // 'demo/g3/s0/a1/b2-v5' */
export function branchId(episode: EpisodeId, turn: number, version: number): BranchId {
  return `${episode}/b${turn}-v${version}` as BranchId
}

/** True for what branchId made, and not for an episode of it. */
export function isBranchId(id: string): id is BranchId {
  return branchPattern.test(id)
}

/** Turn and version of a branch of that very episode; undefined for any other id. @example branchPlace('demo/g3/s0/a1/b2-v5', 'demo/g3/s0/a1') */
export function branchPlace(
  id: string,
  episode: string,
): { readonly turn: number; readonly version: number } | undefined {
  const [, turn, version] =
    (id.startsWith(`${episode}/`) && /^b(\d+)-v(\d+)$/.exec(id.slice(episode.length + 1))) || []
  return turn === undefined ? undefined : { turn: Number(turn), version: Number(version) }
}

/** The ancestors in an episode's id. */
export interface EpisodeAncestry {
  readonly run: RunId
  readonly parent: ParentId
  readonly sample: number
  readonly attempt: number
}

// A branch of an episode that was a branch itself is one as well.
const parentPattern = String.raw`([^/]+)\/(?:g\d+|e-[^/]+)(?:\/s\d+\/a\d+\/b\d+-v\d+)*`
const episodePattern = new RegExp(String.raw`^(${parentPattern})\/s(\d+)\/a(\d+)$`)
const branchPattern = new RegExp(String.raw`^${parentPattern}\/s\d+\/a\d+\/b\d+-v\d+$`)

/** @throws RangeError when the text is no episode id. */
export function parseEpisodeId(id: string): EpisodeAncestry {
  const match = episodePattern.exec(id)
  if (match === null) throw new RangeError(`"${id}" is no episode id: expected RUN/gN/sN/aN or RUN/e-…/sN/aN`)
  const [, parent, run, sample, attempt] = match
  return {
    run: run as RunId,
    parent: parent as ParentId,
    sample: Number(sample),
    attempt: Number(attempt),
  }
}

/**
 * The part of an id after its run; empty for the run itself.
 * @example withinRun(groupId(runId('demo'), 3)) // 'g3'
 */
export function withinRun(id: WorkId): string {
  const end = id.indexOf('/')
  return end === -1 ? '' : id.slice(end + 1)
}

/** A part of a seed; the compiler refuses ids, whose seeds `seedOfWork` makes. */
type SeedPart = number | (string & { readonly [brand]?: never })

/**
 * The seed of a run's work: from its identity within the run, so that the run's name changes no draw.
 * @param purpose what is drawn, where more than one thing is drawn for the same work
 * @example seedOfWork(1, episode, 'versions')
 */
export function seedOfWork(runSeed: number, id: WorkId, ...purpose: readonly SeedPart[]): number {
  return seedOf(runSeed, withinRun(id), ...purpose)
}

/**
 * A 32-bit seed from names and a purpose (FNV-1a over the UTF-16 units, then the finalizer of
 * MurmurHash3 so that neighbouring ids give unrelated seeds).
 * @returns integer in [0, 2^32)
 */
export function seedOf(runSeed: number, ...parts: readonly SeedPart[]): number {
  let hash = 0x811c9dc5 ^ runSeed
  for (const unit of parts.join('\u0000')) {
    hash = Math.imul(hash ^ (unit.codePointAt(0) ?? 0), 0x01000193)
  }
  return scrambled(hash)
}

/** The finalizer of MurmurHash3: a bijection of 32-bit integers, which leads neighbours far apart. */
export function scrambled(integer: number): number {
  let hash = integer >>> 0
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/**
 * A stream of uniforms in [0, 1) with 32 bits each, from a 32-bit seed (mulberry32).
 * @example const next = uniforms(seedOf(1, 'demo/g3')); next() // always the same first number
 */
export function uniforms(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}
