/**
 * A fleet: deployments side by side that share one plan of faults, each with a ground of its own.
 *
 * Invariants
 * - The plan is that of one deployment; the next one that has recovered takes its next fault that can be made there.
 * - One of them plays in containers: to start them takes more than all that the others do.
 * - The first that fails ends the others.
 * - Nothing outlives it: processes, disks, folders and the container engine go, unless folders are asked to be kept.
 * - It is a function of seed, number and kinds alone.
 * - All kinds strike equally often, up to a difference of one.
 */
import { join } from 'node:path'
import { seedOf, uniforms } from '../../identity/identity.ts'
import { shuffled } from '../../learning/rollout/shuffled.ts'
import { type CampaignOptions, campaign, type Played } from './campaign.ts'
import { openContainers } from './containers.ts'
import { type FileSystem, fileSystems } from './disk.ts'
import { type FaultKind, groupsMayEnd, type Means, obstacleOf, rolesOf } from './faults.ts'
import { openGround } from './ground.ts'

export interface FleetOptions
  extends Pick<CampaignOptions, 'seed' | 'deterministic' | 'isSingle' | 'updates' | 'tell' | 'signal'> {
  readonly deployments: number
  /** In all. */
  readonly faults: number
  /** Faults of each kind that can be made here; then `faults` does not count. */
  readonly each?: number | undefined
  /** The seed of the plan of faults, where it is not that of the runs. */
  readonly planSeed?: number | undefined
  readonly kinds: readonly FaultKind[]
  /** File systems of the homes' disks, assigned in turn; all by default. */
  readonly fileSystems?: readonly FileSystem[] | undefined
  /** Folder for everything; one of its own by default. */
  readonly folder?: string | undefined
  readonly keep?: boolean | undefined
}

/** One fault to come. */
export interface PlannedFault<Kind extends string = string> {
  /** From 1. */
  readonly number: number
  readonly kind: Kind
  /** Turns that are sampled between the recovery from the fault before and this one. */
  readonly afterTurns: number
  /** Uniform in [0, 1), for what the fault itself has to choose. */
  readonly choice: number
}

/** Plays the faults and audits. @throws ChaosFault when a deployment does not continue */
export async function fleet(options: FleetOptions): Promise<readonly Played[]> {
  const { deployments, folder, keep, tell } = options
  await using stack = new AsyncDisposableStack()
  const containers = await containersFor(options)
  if (typeof containers !== 'string') stack.use(containers)
  const { fileSystems: among = fileSystems } = options
  const numbers = Array.from({ length: deployments }, (_, index) => index + 1)
  const grounds = numbers.map((number) => {
    const own = folder === undefined || deployments === 1 ? folder : join(folder, String(number))
    const fileSystem = among[(number - 1) % among.length] ?? 'ext4'
    return stack.use(openGround({ folder: own, keep, fileSystem }))
  })
  if (keep === true) tell(`Everything is kept in ${grounds.map((ground) => ground.folder).join(', ')}`)

  const sites = grounds.map((ground, index) => ({
    ground,
    containers: index === 0 ? containers : 'the first deployment has them',
  }))
  const means = sites.map((site) => ({
    ...site.ground,
    containers: site.containers,
    roles: rolesOf(options),
    groupsMayEnd: groupsMayEnd(options.deterministic),
  }))
  const kinds = options.kinds.filter((kind) => isPossible(kind, means, tell))
  const faults = options.each === undefined ? options.faults : options.each * kinds.length
  const plan = [...planFaults(options.planSeed ?? options.seed, faults, kinds)]
  const failed = new AbortController()
  const signal = AbortSignal.any([options.signal, failed.signal])
  const campaigns = sites.map(async (site, index) => {
    const say = deployments === 1 ? tell : (line: string) => tell(`[${index + 1}] ${line}`)
    const seed = options.seed + index
    try {
      return await campaign({ ...options, ...site, plan, seed, signal, tell: say })
    } catch (error) {
      failed.abort(error)
      throw error
    }
  })
  await Promise.allSettled(campaigns)
  return await Promise.all(campaigns)
}

/** An engine where it is needed; what a run in containers does is not determined by its configuration alone. */
async function containersFor({ kinds, deterministic }: FleetOptions): Promise<Means['containers']> {
  if (!kinds.includes('container-killed')) return 'no episode lives in a container where none is killed'
  return deterministic === true ? 'a deterministic run plays a task without containers' : openContainers()
}

/** Whether one of the deployments at least can be hurt in this way. */
function isPossible(kind: FaultKind, means: readonly Means[], tell: (line: string) => void): boolean {
  const obstacles = means.map((each) => obstacleOf(kind, each))
  if (obstacles.includes(undefined)) return true
  tell(`Skipped: ${kind}, ${obstacles[0]}`)
  return false
}

const fewestTurns = 2
const mostTurns = 30

/** Rounds of all kinds, each in an order of its own. */
export function planFaults<Kind extends string>(
  seed: number,
  count: number,
  kinds: readonly Kind[],
): readonly PlannedFault<Kind>[] {
  const draw = uniforms(seedOf(seed, 'chaos'))
  const plan: PlannedFault<Kind>[] = []
  let round: Kind[] = []
  while (plan.length < count && kinds.length > 0) {
    if (round.length === 0) round = shuffled(kinds, draw)
    const kind = round.pop()
    if (kind === undefined) break
    const afterTurns = fewestTurns + Math.floor(draw() * (mostTurns - fewestTurns + 1))
    plan.push({ number: plan.length + 1, kind, afterTurns, choice: draw() })
  }
  return plan
}
