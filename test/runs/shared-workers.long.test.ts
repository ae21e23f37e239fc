/** Runs that wait for the same workers share them by their weights, and what a person waits for goes first. */
import { temporal } from '@temporalio/proto'
import { expect, it } from 'vitest'
import { openSession } from '../../client/session/training-session.ts'
import { priorityOf, taskQueue } from '../../contract/task-queues.ts'
import { ownServer, parseEpisodeId, runId } from '../../identity/identity.ts'
import type { SamplingRequest } from '../../policy/engines/engine.ts'
import { createEchoTask } from '../support/echo-task.ts'
import { withClient } from '../support/executions.ts'
import { eventually, removeHome, temporaryHome } from '../support/perdure-process.ts'
import { createCopyingTrainer, createSpeakingEngine, sayYesOrNo, tinyConfig } from '../support/tiny-run.ts'

const slots = 4
const counted = 240

/** Turns that an engine holds once every run has asked for one, in the order in which they came. */
class HeldTurns {
  readonly #runs: ReadonlySet<string>
  readonly #seen = new Set<string>()
  readonly #held: { readonly run: string; go(): void }[] = []
  isOver = false

  constructor(runs: readonly string[]) {
    this.#runs = new Set(runs)
  }

  get isHolding(): boolean {
    return !this.isOver && this.#seen.size === this.#runs.size
  }

  async pass({ cacheKey }: SamplingRequest): Promise<void> {
    const { run } = parseEpisodeId(cacheKey)
    this.#seen.add(run)
    if (this.isHolding) await new Promise<void>((go) => this.#held.push({ run, go }))
  }

  /** Lets the oldest turn pass once all slots are taken. @returns its run */
  async next(): Promise<string> {
    const turn = await eventually('every slot to be taken', async () =>
      this.#held.length === slots ? this.#held.shift() : undefined,
    )
    turn.go()
    return turn.run
  }

  end(): void {
    this.isOver = true
    for (const { go } of this.#held.splice(0)) go()
  }
}

/** Turns that wait in the queue of the policy's workers. */
function waitingTurns(home: string): Promise<number> {
  return withClient(home, async ({ workflowService, options: { namespace } }) => {
    const { stats } = await workflowService.describeTaskQueue({
      namespace,
      taskQueue: { name: taskQueue('policy', ownServer) },
      taskQueueType: temporal.api.enums.v1.TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
      reportStats: true,
    })
    return Number(stats?.approximateBacklogCount ?? 0)
  })
}

// [TASK-QUEUE-2]
it('two runs with shares of 1 and 3 get a quarter and three quarters of the turns of workers that both wait for', async () => {
  const home = temporaryHome()
  const turns = new HeldTurns(['small', 'large'])
  const session = await openSession({
    home,
    roles: 'all',
    slots,
    log: () => undefined,
    createEngine: () =>
      Promise.resolve(
        createSpeakingEngine(async (request) => {
          await turns.pass(request)
          return sayYesOrNo(request)
        }),
      ),
    createTrainer: () => createCopyingTrainer(),
    findEnvironment: () => createEchoTask().definition,
  })
  try {
    const sections = {
      orchestration: { dispatch: 'server' as const },
      rollout: { groupSize: 8, groupsPerUpdate: 64, maxStaleness: 0 },
      training: { updates: 1 },
    }
    await session.start('small', tinyConfig({ ...sections, fleet: { share: 1 } }))
    await session.start('large', tinyConfig({ ...sections, fleet: { share: 3 } }))
    await eventually('both runs to wait', async () =>
      turns.isHolding && (await waitingTurns(home)) > 2 * counted ? true : undefined,
    )
    // [FLEET-1]
    await eventually('the fleet to report its slots', async () => {
      const { workers, queues } = await session.fleet()
      const policy = workers.filter(({ role }) => role === 'policy')
      const waiting = queues.find(({ role }) => role === 'policy')?.waiting ?? 0
      const isReported =
        policy.length === 1 && policy[0]?.slots.used === slots && policy[0].slots.of === slots
      return isReported && waiting > 2 * counted ? true : undefined
    })
    const shares = { small: 0, large: 0 }
    for (let turn = 0; turn < slots + counted; turn++) {
      const run = await turns.next()
      // The first ones were taken before both runs waited.
      if (turn >= slots) shares[run === 'large' ? 'large' : 'small']++
    }
    expect(shares.large / counted).toBeGreaterThan(0.75 * 0.9)
    expect(shares.large / counted).toBeLessThan(0.75 * 1.1)
  } finally {
    turns.end()
    await session.close()
    removeHome(home)
  }
}, 300_000)

// [TASK-QUEUE-1]
it('what a person waits for goes before training, and what no one waits for after it', () => {
  const [person, training, schedule] = (['person', 'training', 'schedule'] as const).map(
    (waiting) => priorityOf(waiting, runId('first')).priorityKey,
  )
  expect(person).toBeLessThan(training ?? 0)
  expect(training).toBeLessThan(schedule ?? 0)
})
