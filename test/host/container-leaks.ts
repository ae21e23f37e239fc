/**
 * Kills processes with container sessions at random points, and counts what is left: first while nothing that
 * knows their home runs, then after the reaper.
 *
 * Invariants
 * - The points follow from the seed: a number of things done, and then up to a tenth of a second.
 * - Containers have to end by themselves, in real time: nothing of the test's speaks to the engine but to count.
 * - The reaper's clock, for what is left in the home, is set on by a lease's life instead of being waited for.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { seedOf, uniforms } from '../../identity/identity.ts'
import { type LeaseStore, leaseTtlMs, reapFolders } from '../../machine/processes/lease.ts'
import { createHome } from '../../storage/disk/home.ts'
import { openStore } from '../../storage/store.ts'
import { labels } from '../../worlds/containers/container-settings.ts'
import { connectEngine } from '../../worlds/containers/engine.ts'
import { reapContainers } from '../../worlds/containers/life/reaper.ts'

const program = fileURLToPath(new URL('./container-sessions.ts', import.meta.url))

export interface Leftovers {
  readonly containers: number
  readonly leases: number
  readonly folders: number
}

export interface KilledRun {
  /** Leftovers when the processes had been killed; the containers that ran just before, if only those count. */
  readonly before: Leftovers
  /** Seconds until no container was there, with nothing but the dead processes' own means. */
  readonly seconds: number
  /** Containers that were there when that had taken too long. */
  readonly stayed: number
  /** Leftovers after the reaper. */
  readonly after: Leftovers
}

export interface KillPlan {
  readonly sessions: number
  readonly seed: number
  /** How many processes play so many sessions each, and are killed together; 1 by default. */
  readonly processes?: number
  /** Whether what they had started is killed with them; then only what runs is counted as a container. */
  readonly withDescendants?: boolean
}

/** Containers that are gone by then do not count as left behind. */
const waitMs = 60_000

/**
 * Plays sessions in processes, kills these, and waits; then reaps.
 * @param home a directory that may have seen other runs
 */
export async function killedRun(
  engine: { readonly address: string; readonly image: string },
  home: string,
  { sessions, seed, processes = 1, withDescendants = false }: KillPlan,
): Promise<KilledRun> {
  const next = uniforms(seedOf(seed, 'kill'))
  const moments = Array.from({ length: processes }, () => 1 + Math.floor(next() * 6 * sessions))
  const playing = await Promise.all(
    moments.map((moment) => playedUntil({ moment, acting: withDescendants }, engine, home, sessions)),
  )
  const connection = await connectEngine(engine.address)
  const containers = async () =>
    (await connection.docker.listContainers({ all: !withDescendants, filters: { label: [labels.lease] } }))
      .length
  await delay(next() * 100)
  // Running containers may end as soon as all is dead: they are counted before, and the kill waits for the first.
  let running = 0
  while (withDescendants && running === 0) running = await containers()
  const doomed = withDescendants ? playing.flatMap(({ pid }) => [pid, ...childrenOf(pid)]) : []
  for (const { child } of playing) child.kill('SIGKILL')
  for (const pid of doomed) endNow(pid)
  await Promise.all(playing.map(({ exited }) => exited))

  const { storeFile, environmentsDir } = createHome(home)
  const folder = join(environmentsDir, 'temporary')
  const killed = Date.now()
  const count = async (leases: LeaseStore): Promise<Leftovers> => ({
    containers: await containers(),
    leases: (await leases.list('container')).length + (await leases.list('folder')).length,
    folders: (await readdir(folder).catch(() => [])).length,
  })
  await using store = await openStore(storeFile)
  const found = await count(store.leases)
  const before = withDescendants ? { ...found, containers: running } : found
  // The engine may still be making a container that a dead process asked for: twice nothing is nothing.
  let stayed = found.containers
  for (let nothing = 0; nothing < 2 && Date.now() - killed < waitMs; ) {
    await delay(500)
    stayed = await containers()
    nothing = stayed === 0 ? nothing + 1 : 0
  }
  const seconds = (Date.now() - killed) / 1000
  await reapContainers(connection, store.leases, Date.now() + leaseTtlMs)
  await reapFolders(folder, store.leases, Date.now() + leaseTtlMs)
  return { before, seconds, stayed, after: await count(store.leases) }
}

/** A process that plays until it has said so many lines, and, where asked for, has a session that acts. */
async function playedUntil(
  { moment, acting }: { readonly moment: number; readonly acting: boolean },
  engine: { readonly address: string; readonly image: string },
  home: string,
  sessions: number,
) {
  const child = spawn(process.execPath, [program, engine.address, home, engine.image, String(sessions)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  let left = moment
  let acts = !acting
  for await (const line of createInterface({ input: child.stdout })) {
    left -= 1
    acts ||= line.endsWith('acts')
    if (left <= 0 && acts) break
  }
  if (left > 0 || child.pid === undefined) throw new Error('the process with the sessions ended by itself')
  return { child, exited, pid: child.pid }
}

function childrenOf(pid: number): number[] {
  const path = `/proc/${pid}/task/${pid}/children`
  return readFileSync(path, 'utf8').split(' ').filter(Boolean).map(Number)
}

function endNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}
