/**
 * Steering from the page: orders to runs, and branches of episodes.
 *
 * Invariants
 * - [STEERING-1] An order goes the way of the command line: through the run's workflow, whose validator answers, into the
 *   audit trail. A refused order is refused here in its words.
 * - A session is opened for the first order and left when none came for a while: looking needs none.
 * - A branch is played by `perdure branch` in a process of its own: engines never load into the process that serves pages,
 *   and at most `mostBranches` play at once.
 * - Whatever was started is ended when the dashboard is.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { SessionFault } from '../client/run/session-fault.ts'
import type { TrainingSession } from '../client/session/training-session.ts'
import { packageRoot } from '../machine/files/folder.ts'
import { Refused } from './answers/known-run.ts'
import type { Order, OrderTaken } from './contract/run.ts'
import type { BranchesAnswer, BranchStarted, BranchWish } from './contract/trajectory.ts'

const idleMs = 60_000
const mostBranches = 4
/** Refusals come before anything is played, within about a second. */
const refusalMs = 3000
/** The most characters of a process's last words; a longer text is cut. */
const longestWords = 4000

export interface Steering extends AsyncDisposable {
  /** @throws Refused `refused`, `unknown`, `unavailable` */
  order(run: string, order: Order): Promise<OrderTaken>
  /** @throws Refused */
  branch(episode: string, wish: BranchWish): Promise<BranchStarted>
  /** Branches that were asked for, of an episode. */
  asked(episode: string): BranchesAnswer['asked']
}

interface AskedBranch {
  readonly episode: string
  readonly turn: number
  readonly samples: number
  state: 'playing' | 'failed' | 'done'
  reason?: string
  readonly child: ChildProcess
}

export function createSteering(home: string, log: (line: string) => void): Steering {
  let session: Promise<TrainingSession> | undefined
  let leaving: NodeJS.Timeout | undefined
  const branches: AskedBranch[] = []

  async function withSession<T>(work: (session: TrainingSession) => Promise<T>): Promise<T> {
    clearTimeout(leaving)
    session ??= openClient(home, log)
    const opened = session
    try {
      return await work(await opened)
    } catch (error) {
      throw refusedOf(error)
    } finally {
      leaving = setTimeout(() => void leave(), idleMs).unref()
    }
  }

  async function leave(): Promise<void> {
    const left = session
    session = undefined
    const opened = await left?.catch(() => undefined)
    await opened?.close()
  }

  return {
    order: (run, order) => withSession((opened) => give(opened, run, order)),

    async branch(episode, wish) {
      if (branches.filter(({ state }) => state === 'playing').length >= mostBranches)
        throw new Refused('refused', `${mostBranches} branches are being played; wait until one has ended`)
      const started = playBranch(home, episode, wish)
      branches.push(started)
      branches.splice(0, Math.max(0, branches.length - 100))
      await Promise.race([once(started.child, 'close'), delay(refusalMs, undefined, { ref: false })])
      if (started.state === 'failed') {
        branches.splice(branches.indexOf(started), 1)
        throw new Refused('refused', started.reason ?? 'the branch was not played')
      }
      return { episode, turn: wish.turn }
    },

    asked: (episode) =>
      branches
        .filter((each) => each.episode === episode)
        .flatMap(({ turn, samples, state, reason }) =>
          state === 'done' ? [] : [{ turn, samples, state, ...(reason === undefined ? {} : { reason }) }],
        ),

    async [Symbol.asyncDispose]() {
      clearTimeout(leaving)
      for (const { child, state } of branches)
        if (state === 'playing' && child.exitCode === null) {
          const closed = once(child, 'close')
          child.kill('SIGINT')
          await closed
        }
      await leave()
    },
  }
}

async function openClient(home: string, log: (line: string) => void): Promise<TrainingSession> {
  const { openSession } = await import('../client/session/training-session.ts')
  return openSession({ home, roles: 'client', log })
}

async function give(session: TrainingSession, run: string, order: Order): Promise<OrderTaken> {
  switch (order.order) {
    case 'pause':
      await session.pause(run, order.reason === undefined ? {} : { reason: order.reason })
      return { taken: `${run} pauses` }
    case 'continue':
      await session.continue(run)
      return { taken: `${run} continues` }
    case 'stop':
      await session.stop(run, { now: order.now ?? false })
      return { taken: order.now === true ? `${run} stops` : `${run} stops after the update in progress` }
    case 'set':
      await session.change(run, order.settings)
      return { taken: `${Object.keys(order.settings).join(', ')} changed` }
    case 'evaluate':
      return { taken: `evaluation ${await session.evaluateNow(run, order.suite)} started` }
    case 'checkpoint':
      return { taken: `version ${await session.checkpoint(run)} is kept` }
    case 'rollback':
      await session.rollBack(run, order.version)
      return { taken: `${run} goes back to version ${order.version} after the update in progress` }
    case 'promote':
      return {
        taken: `version ${(await session.promote(run, { version: order.version })).version} is promoted`,
      }
  }
}

function refusedOf(error: unknown): Refused {
  if (error instanceof Refused) return error
  const message = error instanceof Error ? error.message : String(error)
  if (!(error instanceof SessionFault)) return new Refused('unavailable', message, { cause: error })
  const kind = error.kind === 'unknown_run' ? 'unknown' : 'refused'
  return new Refused(kind, message, { cause: error })
}

function playBranch(home: string, episode: string, { turn, samples = 1, version }: BranchWish): AskedBranch {
  const words = ['branch', '--turn', `${turn}`, '--samples', `${samples}`, '--home', home, '--json']
  if (version !== undefined) words.push('--version', `${version}`)
  // An id that begins like an option is an argument all the same.
  words.push('--', episode)
  const child = spawn(process.execPath, [join(packageRoot, 'bin', 'perdure.mjs'), ...words], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const asked: AskedBranch = { episode, turn, samples, state: 'playing', child }
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString('utf8')).slice(-longestWords)
  })
  child.once('error', (error) => {
    asked.state = 'failed'
    asked.reason = error.message
  })
  child.once('close', (code) => {
    asked.state = code === 0 ? 'done' : 'failed'
    const [, reason] = /^error: (.*)/ms.exec(said) ?? []
    if (code !== 0) asked.reason = (reason ?? said).trim()
  })
  return asked
}
