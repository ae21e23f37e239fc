/**
 * A campaign: a deployment, runs on it, faults in them by plan, and the audit at the end.
 *
 * Invariants
 * - A fault strikes when the one before is recovered from, so that each recovery is its own.
 * - Work that was finished at any fault is compared with the work at the end.
 * - A fault whose run has ended by itself is made in the next one. Runs that end before any fault end the campaign.
 * - No process of it outlives it.
 * - Files of a home that a person keeps (store, server, logs, runs) are not remains; whatever is unfinished,
 *   temporary or of a process that has ended is.
 */

import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { SessionFault } from '../../client/run/session-fault.ts'
import type { TrainingSession } from '../../client/session/training-session.ts'
import type { RunId } from '../../identity/identity.ts'
import { publishedVersions } from '../../policy/checkpoints/versions.ts'
import { digestFile } from '../../policy/files/durable-file.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { openStore } from '../../storage/store.ts'
import { auditFinished, auditRun, type Findings, noFindings, type RedoneWork, redoneWork } from './audit.ts'
import type { Containers } from './containers.ts'
import { Deployment, type Places, processesOf } from './deployment.ts'
import {
  type FaultKind,
  faults,
  groupsMayEnd,
  type Means,
  obstacleOf,
  rolesOf,
  type Victim,
} from './faults.ts'
import type { PlannedFault } from './fleet.ts'
import type { Ground } from './ground.ts'
import type { Execution, Histories } from './history.ts'
import type { Observer } from './observer.ts'
import { recovery } from './recovery.ts'
import type { Played as Made, Recovered } from './report.ts'
import { openVantage, type Vantage } from './vantage.ts'
import { ChaosFault, eventually } from './waiting.ts'
import { configuration, nameOf, turnLimit, type Workload } from './workload.ts'

/** A deterministic campaign has one run, whose last checkpoint is reported. */
export interface CampaignOptions extends Omit<Workload, 'number' | 'home'> {
  /** Those to come; others may take from it too. */
  readonly plan: PlannedFault<FaultKind>[]
  readonly ground: Ground
  /** All roles in one process. */
  readonly isSingle?: boolean | undefined
  /** Receives what happens. */
  readonly tell: (line: string) => void
  readonly signal: AbortSignal
}

/** Faults after which a run ends and another begins. */
const faultsPerRun = 25

/** A machine of two busy cores starts processes, imitates demonstrations and samples the first turn. */
const startSeconds = 600

const orderSeconds = 400

export interface Played extends Made {
  /** The last checkpoint of a deterministic run. */
  readonly checkpoint?: LastCheckpoint | undefined
}

/** The last checkpoint of a run, as one hash. */
interface LastCheckpoint {
  readonly version: number
  /** SHA-256 of the hexadecimal SHA-256s of weights and moments, a line each. */
  readonly sha256: string
}

/** Plays the faults and audits. @throws ChaosFault when the deployment does not continue */
export async function campaign(options: CampaignOptions): Promise<Played> {
  const { plan, tell, signal, containers } = options
  const { places, disk, clock } = options.ground
  const environment = {
    ...(typeof clock === 'string' ? {} : clock.environment),
    ...(typeof containers === 'string' ? {} : containers.environment),
  }
  await using deployment = new Deployment(places, environment, options)
  const means = {
    disk,
    clock,
    containers,
    roles: rolesOf(options),
    groupsMayEnd: groupsMayEnd(options.deterministic),
  } as const

  const records: Recovered[] = []
  const findings: Findings[] = []
  const redone = { turns: 0, updates: 0 }
  let checkpoint: LastCheckpoint | undefined
  {
    await using watch = await openWatch(places.home, tell)
    deployment.startAll()
    const remembered = new Map<string, string>()
    const met = new Map<string, number>()
    const mostPerRun = options.deterministic === true ? Number.POSITIVE_INFINITY : faultsPerRun
    for (let number = 1; number === 1 || plan.some((fault) => isPossible(fault, means)); number++) {
      const run = nameOf(number)
      await watch.now.session.start(run, configuration({ ...options, number, home: places.home }))
      const victim = watch.victim({ deployment, run, ...means, turnLimit, signal })
      for (let made = 0; made < mostPerRun; made++) {
        const fault = takeFault(plan, means)
        if (fault === undefined) break
        const record = await playFault(victim, watch, fault, { remembered, met }, options)
        if (record !== undefined) records.push(record)
        else if (options.deterministic !== true) {
          if (made === 0)
            throw new ChaosFault(`${run} ended by itself before any fault: ${victim.observer.standing(run)}`)
          plan.unshift(fault)
          break
        }
      }
      const { session, histories, observer, hands } = watch.now
      if (options.deterministic !== true) await stop(session, victim)
      const executions = await executionsOfEnded(victim, histories)
      await using store = await openStore(homeAt(places.home).storeFile)
      findings.push(await auditRun(run, { home: places.home, store, executions, ended: hands.ended }))
      const again = await redoneWork(run, store, executions)
      redone.turns += again.turns
      redone.updates += again.updates
      tell(`${run}: ${observer.updates(run)} updates, ${againWords(again, met)}`)
      if (options.deterministic === true) checkpoint = await lastCheckpoint(places.home, run)
    }
    const { observer } = watch.now
    findings.push(auditFinished(remembered, observer.finished()))
    await deployment.close()
    findings.push({ ...noFindings(), left: [...(await containersLeft(containers, observer))] })
  }
  findings.push({ ...noFindings(), left: [...remainsOf(places)] })
  for (const found of findings)
    for (const [what, sentences] of Object.entries(found))
      for (const sentence of sentences) tell(`${what}: ${sentence}`)
  if (deployment.crashes > 0)
    tell(`${deployment.crashes} processes ended by themselves and were started again`)
  return { records, findings, redone, checkpoint }
}

function isPossible({ kind }: PlannedFault<FaultKind>, means: Means): boolean {
  return obstacleOf(kind, means) === undefined
}

/** Takes the first fault that can be made here. */
function takeFault(plan: PlannedFault<FaultKind>[], means: Means): PlannedFault<FaultKind> | undefined {
  const at = plan.findIndex((fault) => isPossible(fault, means))
  return at < 0 ? undefined : plan.splice(at, 1)[0]
}

async function containersLeft(containers: Containers | string, observer: Observer) {
  if (typeof containers === 'string') return []
  return (await containers.of(observer.scope())).map((name) => `container ${name}`)
}

/** The vantage of a campaign, which is given up during a power cut. */
interface Watch extends AsyncDisposable {
  readonly now: Vantage
  /** A victim that is seen from here. */
  victim(of: Omit<Victim, 'observer' | 'hands' | 'whileAway'>): Victim
}

async function openWatch(home: string, tell: (line: string) => void): Promise<Watch> {
  const endings = new Map<string, number>()
  let vantage = await openVantage(home, endings, tell)
  return {
    get now() {
      return vantage
    },
    victim: (of) => ({
      ...of,
      get observer() {
        return vantage.observer
      },
      get hands() {
        return vantage.hands
      },
      async whileAway(work) {
        // On a disk without power nothing can be closed in order.
        await Promise.allSettled([vantage[Symbol.asyncDispose]()])
        await work()
        vantage = await openVantage(home, endings, tell)
      },
    }),
    [Symbol.asyncDispose]: () => vantage[Symbol.asyncDispose](),
  }
}

function againWords(
  { turnsOf, turnsOfLostAttempts, updates }: RedoneWork,
  met: ReadonlyMap<string, number>,
): string {
  const turns = [...turnsOf]
  const most = Math.max(0, ...turns.map(([, count]) => count))
  const perFault = Math.max(0, ...turns.map(([episode, count]) => count / (met.get(episode) ?? 1)))
  return `at most ${most} turns of one episode begun again, ${Number(perFault.toFixed(2))} per fault that it met; ${turnsOfLostAttempts} turns of attempts that were lost; ${updates} updates in all`
}

/** The observations over the faults of a campaign. */
interface Gathered {
  /** All that was finished at one of them. */
  readonly remembered: Map<string, string>
  /** Faults that each episode met: it was open when they struck, or when they were recovered from. */
  readonly met: Map<string, number>
}

/** Waits for the fault's turn, makes it, and waits for the recovery; undefined where the run has ended before. */
async function playFault(
  victim: Victim,
  watch: Watch,
  { number, kind, afterTurns, choice }: PlannedFault<FaultKind>,
  { remembered, met }: Gathered,
  { tell }: CampaignOptions,
): Promise<Recovered | undefined> {
  const { run, signal, observer: first } = victim
  const before = first.turns()
  const wait = { seconds: startSeconds, signal }
  const mayStrike = () => first.turns() >= before + afterTurns || first.hasEnded(run)
  await eventually(`${afterTurns} turns before fault ${number}`, () => mayStrike() || undefined, wait)
  if (first.hasEnded(run)) {
    tell(`${number} ${kind}: the run has ended before (${first.standing(run)})`)
    return undefined
  }
  const struck = await faults[kind].strike(victim, choice)
  if (struck.isTakenBack === true)
    for (const key of remembered.keys()) if (!struck.finished.has(key)) remembered.delete(key)
  for (const [key, digest] of struck.finished) if (!remembered.has(key)) remembered.set(key, digest)
  const seconds = await recovery(victim, watch.now.histories, kind, struck)
  const { observer } = victim
  for (const episode of new Set([...struck.open.keys(), ...observer.openEpisodes().keys()]))
    met.set(episode, (met.get(episode) ?? 0) + 1)
  const note = struck.inTheMiddle ? '' : ', though not at its moment'
  tell(
    `${number} ${kind}: recovered in ${seconds.toFixed(1)} s${note}; ${struck.open.size} episodes open, update ${observer.updates(run)}`,
  )
  return { kind, seconds }
}

/** Ends a run after the update in progress. */
async function stop(session: TrainingSession, { run, signal }: Victim): Promise<void> {
  const isStopped = async () => {
    try {
      await session.stop(run)
      return true
    } catch (error) {
      if (!(error instanceof SessionFault)) throw error
      return error.kind === 'not_running' ? true : undefined
    }
  }
  await eventually(`run ${run} to take the order to stop`, isStopped, { seconds: orderSeconds, signal })
}

/** Waits until the run and all that it has begun have ended. */
async function executionsOfEnded(
  { observer, run, signal }: Victim,
  histories: Histories,
): Promise<readonly Execution[]> {
  const wait = { seconds: startSeconds, everyMs: 200, signal }
  await eventually(`run ${run} to end`, () => observer.hasEnded(run) || undefined, wait)
  const isQuiet = async () => ((await histories.running()) === 0 ? true : undefined)
  await eventually(`what run ${run} began to end`, isQuiet, wait)
  return histories.executions()
}

/** The newest version; undefined where there is none. @throws CheckpointFault it cannot be read */
export async function lastCheckpoint(home: string, run: RunId): Promise<LastCheckpoint | undefined> {
  const { checkpointsDir, checkpointDir } = homeAt(home).run(run)
  const version = (await publishedVersions(checkpointsDir)).at(-1)
  if (version === undefined) return undefined
  const hash = createHash('sha256')
  for (const name of ['model.safetensors', 'optimizer.safetensors'])
    hash.update(`${(await digestFile(join(checkpointDir(version), name))).sha256}\n`)
  return { version, sha256: hash.digest('hex') }
}

const temporary = /(\.partial|\.new|\.tmp|-wal|-shm|-journal)$/

/** The server keeps its file's log beside the file when it ends; it reads it when it starts. */
const serverLog = /^temporal\.db-(wal|shm)$/

/** Remains: what a deployment leaves on the machine after it was closed. */
function remainsOf({ home, temporary: folder }: Places): readonly string[] {
  const files = readdirSync(home, { recursive: true, encoding: 'utf8' })
  const users = join(home, 'locks', 'temporal-users')
  return [
    ...processesOf(home),
    ...files.filter((name) => temporary.test(name) && !serverLog.test(name)).map((name) => `file ${name}`),
    ...(existsSync(users) ? readdirSync(users).map((name) => `server user ${name}`) : []),
    ...readdirSync(folder).map((name) => `temporary ${name}`),
  ]
}
