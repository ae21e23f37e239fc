/**
 * The faults: what is done to a deployment, and when what was hurt is whole again.
 *
 * Invariants
 * - A fault takes back what it did (it starts what it killed, thaws what it froze, frees what it took), so
 *   that what is measured after it is the recovery.
 * - A fault that cannot be made here says why by name, and is never counted as made.
 */
import { watch } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { runId } from '../../identity/identity.ts'
import { homeAt } from '../../storage/disk/home.ts'
import type { Containers } from './containers.ts'
import type { Deployment, Member } from './deployment.ts'
import type { PoweredDisk, SmallDisk } from './disk.ts'
import type { MovableClock } from './ground.ts'
import type { Hands } from './hands.ts'
import type { Observer } from './observer.ts'
import { powerCut } from './power-cut.ts'
import { momentSeconds, polled, within } from './waiting.ts'

/** The means that some faults need; a text says why one is not to be had. */
export interface Means {
  /** The disk of the home. */
  readonly disk: PoweredDisk | SmallDisk | string
  /** Whether each role has a process of its own; else why not. */
  readonly roles: true | string
  readonly clock: MovableClock | string
  readonly containers: Containers | string
  /** Whether groups of a run may be ended by hand; else why not. */
  readonly groupsMayEnd: true | string
}

/** Another group takes the place of one that is ended, so a run that is to repeat another keeps all of its own. */
export function groupsMayEnd(deterministic: boolean | undefined): Means['groupsMayEnd'] {
  return deterministic === true ? 'a deterministic run would learn from another group in its place' : true
}

export function rolesOf({ isSingle }: { readonly isSingle?: boolean | undefined }): Means['roles'] {
  return isSingle === true ? 'the deployment is one process' : true
}

/** The target of a fault. */
export interface Victim extends Means {
  readonly deployment: Deployment
  /** Another one after each power cut. */
  readonly observer: Observer
  /** Others after each power cut. */
  readonly hands: Hands
  /** Does something while this process has no file of the home open. */
  whileAway(work: () => Promise<void>): Promise<void>
  readonly run: string
  /** Turns after which an episode of the run ends. */
  readonly turnLimit: number
  readonly signal: AbortSignal
}

/** A fault that has been made and taken back. */
export interface Struck {
  /** Open episodes with their turns when it struck. */
  readonly open: ReadonlyMap<string, number>
  /** Everything that was finished then. */
  readonly finished: ReadonlyMap<string, string>
  /** `performance.now()` when it was taken back: a process started or thawed, a disk freed. */
  readonly restored: number
  /** False where the moment that it waits for did not come, and it struck at another. */
  readonly inTheMiddle: boolean
  /** The workflow that was ended by hand. */
  readonly workflow?: string
  /** Whether the disk has taken back what was finished before and is not in `finished`. */
  readonly isTakenBack?: boolean
}

export interface Fault {
  readonly summary: string
  /** Why it cannot be made here. */
  obstacle?(means: Means): string | undefined
  /** @param choice uniform in [0, 1) */
  strike(victim: Victim, choice: number): Promise<Struck>
}

/** Longer than every heartbeat timeout and every hold on a task, so that others have taken it over. */
const frozenMs = 15_000
/** The server's users give it half a minute, and longer on a busy machine. */
const replacedSeconds = 180
/** Longer than anybody goes by the clock as last read, and than a hold on a task. */
const clockMovedMs = 8_000
const clockSeconds = 3_600
/** A supervisor needs a moment to see that a process is gone. */
const supervisorMs = 300

/** All kinds of faults by name. */
export const faults = {
  'kill-orchestrator': killing('kill -9 of the orchestrator', () => ['orchestrator']),
  'kill-environment': killing('kill -9 of one of two environment workers', (choice) => [oneOfTwo(choice)]),
  'kill-policy': killing('kill -9 of the policy worker', () => ['policy']),
  'kill-trainer': killing(
    'kill -9 of the trainer in an update',
    () => ['trainer'],
    (victim) => polled(victim, () => victim.observer.isUpdating(victim.run)),
  ),
  'kill-server': {
    summary: 'kill -9 of the Temporal server',
    strike: (victim) => struck(victim, true, async () => victim.deployment.killServer()),
  },
  'kill-all': {
    summary: 'kill -9 of everything at once',
    strike: (victim) =>
      struck(victim, true, async () => {
        await victim.deployment.killAll()
        await delay(supervisorMs)
        victim.deployment.startAll()
      }),
  },
  'kill-checkpoint': killing(
    'kill -9 of the trainer while it writes a checkpoint',
    () => ['trainer'],
    checkpointBegun,
  ),
  'kill-publish': killing(
    'kill -9 of the policy worker while it publishes',
    () => ['policy'],
    (victim) => polled(victim, () => victim.observer.isPublishing(victim.run)),
  ),
  'kill-seal': killing(
    'kill -9 of both environment workers while a trajectory is sealed',
    () => ['environment-1', 'environment-2'],
    (victim) => polled(victim, () => victim.observer.isSealing(victim.turnLimit)),
  ),
  'freeze-orchestrator': freezing('the orchestrator', () => 'orchestrator'),
  'freeze-environment': freezing('an environment worker: hung environments', oneOfTwo),
  'freeze-policy': freezing('the policy worker', () => 'policy'),
  'freeze-trainer': freezing('the trainer', () => 'trainer'),
  'freeze-server': {
    summary: `SIGSTOP of the Temporal server, for ${frozenMs / 1000} s or until another is started in its place`,
    strike: (victim, choice) =>
      struck(victim, true, async () => {
        const { deployment, signal } = victim
        const pid = deployment.freezeServer()
        if (pid === undefined) return
        const isReplaced = () => (deployment.serverPid() === pid ? undefined : true)
        try {
          if (choice < 0.5) await delay(frozenMs, undefined, { signal })
          else await within(isReplaced, { seconds: replacedSeconds, signal })
        } finally {
          deployment.thawServer(pid)
        }
      }),
  },
  'power-cut': powerCut('no power: every process is gone, and with them what had not reached the disk'),
  'power-cut-store': powerCut('likewise, and the disk has lost the last seconds of store.db', 'store'),
  'power-cut-temporal': powerCut(
    'likewise, and the disk has lost the last seconds of temporal.db',
    'temporal',
  ),
  'slow-environment': {
    obstacle: ({ roles }) => obstacleIn(roles),
    summary: 'an environment worker that is stopped four fifths of the time, for 10 s',
    strike: (victim, choice) =>
      struck(victim, true, async () => {
        const member = oneOfTwo(choice)
        for (let pulse = 0; pulse < 10; pulse++) {
          victim.deployment.freeze(member)
          await delay(800)
          victim.deployment.thaw(member)
          await delay(200)
        }
      }),
  },
  'disk-full': {
    summary: 'no room on the disk of the home for 8 s',
    obstacle: ({ disk }) => obstacleIn(disk),
    strike: (victim) =>
      struck(victim, true, async () => {
        if (typeof victim.disk === 'string') return
        victim.disk.fill()
        try {
          await delay(8_000, undefined, { signal: victim.signal })
        } finally {
          victim.disk.empty()
        }
      }),
  },
  'store-locked': {
    summary: 'the store locked by another process for 2 to 12 s, longer than a write waits',
    strike: (victim, choice) =>
      struck(victim, true, async () => {
        const file = homeAt(victim.deployment.places.home).storeFile
        using holder = new DatabaseSync(file, { timeout: 10_000 })
        holder.exec('begin exclusive')
        try {
          await delay(2_000 + 10_000 * choice, undefined, { signal: victim.signal })
        } finally {
          holder.exec('rollback')
        }
      }),
  },
  'container-killed': {
    summary: 'kill -9 of a container under its session',
    obstacle: ({ containers }) => obstacleIn(containers),
    async strike(victim, choice) {
      const { containers, observer, signal } = victim
      if (typeof containers === 'string') throw new RangeError(containers)
      const look = async () => {
        const running = await containers.of(observer.scope())
        return running[Math.floor(choice * running.length)]
      }
      const name = await within(look, { seconds: momentSeconds, signal })
      return struck(victim, name !== undefined, async () => {
        if (name !== undefined) await containers.kill(name)
      })
    },
  },
  'clock-jump': {
    summary: 'the clocks of all processes but the server an hour ahead or behind, for 8 s',
    obstacle: ({ clock }) => obstacleIn(clock),
    strike: (victim, choice) =>
      struck(victim, true, async () => {
        if (typeof victim.clock === 'string') return
        victim.clock.set(choice < 0.5 ? clockSeconds : -clockSeconds)
        try {
          await delay(clockMovedMs, undefined, { signal: victim.signal })
        } finally {
          victim.clock.set(0)
        }
      }),
  },
  'terminate-episode': ending('an episode', 'terminate', ({ hands, run }, choice) =>
    hands.pick(run, 'episode', choice),
  ),
  'terminate-group': {
    ...ending('a group with its episodes in flight', 'terminate', aGroup),
    obstacle: ({ groupsMayEnd }) => obstacleIn(groupsMayEnd),
  },
  'cancel-group': {
    ...ending('a group with its episodes in flight', 'cancel', aGroup),
    obstacle: ({ groupsMayEnd }) => obstacleIn(groupsMayEnd),
  },
  'terminate-evaluation': ending('an evaluation', 'terminate', ({ hands, run }, choice) =>
    hands.pickEvaluation(run, choice),
  ),
  'terminate-run': {
    summary: 'the run terminated in the UI, then resumed',
    strike: (victim) =>
      struck(victim, true, async () => {
        await victim.hands.end(victim.run, 'terminate')
        await victim.hands.resume(victim.run)
      }),
  },
} as const satisfies Record<string, Fault>

export type FaultKind = keyof typeof faults
export const faultKinds = Object.keys(faults) as readonly FaultKind[]

/** Why a kind cannot be made here; undefined where it can. */
export function obstacleOf(kind: FaultKind, means: Means): string | undefined {
  const fault: Fault = faults[kind]
  return fault.obstacle?.(means)
}

function obstacleIn(means: object | string | true): string | undefined {
  return typeof means === 'string' ? means : undefined
}

function aGroup({ hands, run }: Victim, choice: number): Promise<string | undefined> {
  return hands.pick(run, 'rolloutGroup', choice)
}

/** Ends work of the run in the UI, as soon as there is some. */
function ending(
  what: string,
  how: 'terminate' | 'cancel',
  find: (victim: Victim, choice: number) => Promise<string | undefined>,
): Fault {
  return {
    summary: `${what}, ${how === 'cancel' ? 'cancelled' : 'terminated'} in the UI`,
    async strike(victim, choice) {
      const strikeOne = async () => {
        const workflow = await find(victim, choice)
        return workflow !== undefined && (await victim.hands.end(workflow, how)) ? workflow : undefined
      }
      const open = victim.observer.openEpisodes()
      const finished = victim.observer.finished()
      const workflow = await within(strikeOne, {
        seconds: momentSeconds,
        everyMs: 100,
        signal: victim.signal,
      })
      return {
        open,
        finished,
        restored: performance.now(),
        inTheMiddle: workflow !== undefined,
        ...(workflow === undefined ? {} : { workflow }),
      }
    },
  }
}

function oneOfTwo(choice: number): Member {
  return choice < 0.5 ? 'environment-1' : 'environment-2'
}

function killing(
  summary: string,
  choose: (choice: number) => readonly Member[],
  moment: (victim: Victim) => Promise<boolean> = async () => true,
): Fault {
  return {
    summary,
    obstacle: ({ roles }) => obstacleIn(roles),
    async strike(victim, choice) {
      const killed = choose(choice)
      const isInTheMiddle = await moment(victim)
      return struck(victim, isInTheMiddle, async () => {
        await Promise.all(killed.map((member) => victim.deployment.kill(member)))
        await delay(supervisorMs)
        for (const member of killed) victim.deployment.start(member)
      })
    },
  }
}

function freezing(who: string, choose: (choice: number) => Member): Fault {
  return {
    obstacle: ({ roles }) => obstacleIn(roles),
    summary: `SIGSTOP of ${who} for ${frozenMs / 1000} s, then SIGCONT`,
    strike: (victim, choice) =>
      struck(victim, true, async () => {
        const member = choose(choice)
        victim.deployment.freeze(member)
        try {
          await delay(frozenMs, undefined, { signal: victim.signal })
        } finally {
          victim.deployment.thaw(member)
        }
      }),
  }
}

/** Makes the fault and takes it back. A kill comes first: what is read before it would make it late. */
async function struck(
  { observer }: Victim,
  inTheMiddle: boolean,
  make: () => Promise<void>,
): Promise<Struck> {
  const making = make()
  const open = observer.openEpisodes()
  const finished = observer.finished()
  await making
  return { open, finished, restored: performance.now(), inTheMiddle }
}

/** The moment in which a folder for an unfinished checkpoint appears. */
async function checkpointBegun({ deployment, run, signal }: Victim): Promise<boolean> {
  const { checkpointsDir } = homeAt(deployment.places.home).run(runId(run))
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const watcher = watch(checkpointsDir, (_, name) => {
    if (name?.endsWith('.partial') === true) resolve(true)
  })
  try {
    return await Promise.race([promise, delay(1000 * momentSeconds, false, { ref: false, signal })])
  } finally {
    watcher.close()
  }
}
