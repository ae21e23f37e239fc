/** The chaos harness: its plan, and that its audit finds what is planted. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { auditFinished, auditRun, type Findings, redoneWork } from '../../bench/chaos/audit.ts'
import { lastCheckpoint } from '../../bench/chaos/campaign.ts'
import { Deployment } from '../../bench/chaos/deployment.ts'
import { faultKinds } from '../../bench/chaos/faults.ts'
import { planFaults } from '../../bench/chaos/fleet.ts'
import type { Execution } from '../../bench/chaos/history.ts'
import { reportOf } from '../../bench/chaos/report.ts'
import { initialState, type TrainingState } from '../../contract/training-state.ts'
import { episodeId, groupId, runId, uniforms } from '../../identity/identity.ts'
import { publishCheckpoint } from '../../policy/checkpoints/checkpoint.ts'
import { tinyArchitecture } from '../../policy/checkpoints/policy.testing.ts'
import { randomWeights } from '../../policy/sampler/random-weights.testing.ts'
import { createHome, createRunDirectory, homeAt } from '../../storage/disk/home.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { removeHome, temporaryHome } from '../support/perdure-process.ts'
import { tinyConfig } from '../support/tiny-run.ts'

describe('the plan', () => {
  it('is a function of seed, number and kinds', () => {
    const kinds = ['a', 'b', 'c']
    expect(planFaults(1, 20, kinds)).toEqual(planFaults(1, 20, kinds))
    expect(planFaults(1, 20, kinds)).not.toEqual(planFaults(2, 20, kinds))
    expect(planFaults(1, 5, kinds)).toEqual(planFaults(1, 20, kinds).slice(0, 5))
  })

  it('lets no kind strike more than once more often than another', () => {
    const times = Map.groupBy(planFaults(3, 50, faultKinds), ({ kind }) => kind)
    const counts = faultKinds.map((kind) => times.get(kind)?.length ?? 0)
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1)
  })
})

describe('the report', () => {
  it('counts faults by kind, and findings and recovery over all of them', () => {
    const records = [3, 1, 2].map((seconds, index) => ({ kind: index === 0 ? 'a' : 'b', seconds }))
    const found: Findings[] = [
      { lost: ['x'], doubled: [], left: [] },
      { lost: [], doubled: ['y', 'z'], left: [] },
    ]
    const one = {
      records: records.slice(0, 1),
      findings: found.slice(0, 1),
      redone: { turns: 3, updates: 1 },
    }
    const other = { records: records.slice(1), findings: found.slice(1), redone: { turns: 1, updates: 0 } }
    expect(reportOf([one, other])).toEqual({
      faults: { a: 1, b: 2 },
      lost: 1,
      doubled: 2,
      left: 0,
      redone: { turns: 4, updates: 1 },
      recoverySeconds: { p50: 2, p99: 3 },
    })
  })
})

describe('what a run ended with', () => {
  const home = temporaryHome()
  const run = runId('ended')
  afterAll(() => removeHome(home))

  /** The hash after a version whose weights, first and second moments are drawn from these seeds is published. */
  async function hashAfter(version: number, seeds: readonly [number, number, number]) {
    const [weights, first, second] = seeds.map((seed) => randomWeights(tinyArchitecture, uniforms(seed)))
    const dir = createRunDirectory(createHome(home), run).checkpointDir(version)
    const state = { version, step: version, chat: 'compact', facts: {} } as const
    if (weights === undefined || first === undefined || second === undefined)
      throw new RangeError('no weights')
    const optimizer = { step: 1, first, second }
    await publishCheckpoint(dir, {
      architecture: tinyArchitecture,
      weights,
      tokenizer: '{}',
      state,
      optimizer,
    })
    return lastCheckpoint(home, run)
  }

  it('is a hash of the weights and the moments of the newest version, and of nothing else', async () => {
    const first = await hashAfter(0, [1, 2, 3])
    const same = await hashAfter(1, [1, 2, 3])
    const otherWeights = await hashAfter(2, [4, 2, 3])
    const otherMoments = await hashAfter(3, [1, 2, 4])
    expect(same).toEqual({ version: 1, sha256: first?.sha256 })
    expect(new Set([same, otherWeights, otherMoments].map((each) => each?.sha256)).size).toBe(3)
  })
})

describe('the audit', () => {
  const home = temporaryHome()
  const run = runId('planted')
  const group = (number: number) => groupId(run, number)
  const episode = (number: number) => episodeId(group(number), 0, 0)
  const executions: Execution[] = [0, 1].map((number) => ({
    workflowId: group(number),
    type: 'rolloutGroup',
    status: 'COMPLETED',
    again: new Map(),
  }))
  let store: Store

  /** Two groups of one episode, of which an update consumes the first. */
  beforeAll(async () => {
    createRunDirectory(createHome(home), run)
    store = await openStore(homeAt(home).storeFile)
    const config = tinyConfig()
    const state = { ...initialState(run, config, 0), step: 1, nextGroup: 2 }
    await store.runs.insert({ id: run, config, created: 0 })
    await store.runs.publish(run, { version: 1, state })
    for (const number of [0, 1]) {
      await store.episodes.insert({ id: episode(number), task: 'echo', instance: 'i', created: 0 })
      await store.episodes.seal(episode(number), { outcome: 'completed', reward: 1, ended: 0 })
      await store.groups.insert({
        id: group(number),
        run,
        number,
        task: 'echo',
        instance: 'i',
        version: 0,
        created: 0,
      })
      const episodes = [episode(number)]
      const ending = { status: 'complete', episodes, rewards: [1], oldestVersion: 0, ended: 0 } as const
      await store.groups.complete(group(number), ending)
    }
    await store.groups.consume([group(0)], 1)
    await store.updates.put({ run, step: 1, version: 1, statistics: {}, groups: [group(0)], created: 0 }, [])
  })

  afterAll(async () => {
    await store.close()
    removeHome(home)
  })

  const findings = (played = executions) => auditRun(run, { home, store, executions: played })

  it('finds a lost line of metrics, and nothing else in a run that is whole', async () => {
    expect(await findings()).toEqual({
      lost: ['metrics of run planted have no line of step 1'],
      doubled: [],
      left: [],
    })
  })

  it('finds a group and an episode that the store lost, unless a stopped run has not admitted the group yet', async () => {
    const more = (number: number): Execution => ({
      workflowId: group(number),
      type: 'rolloutGroup',
      status: 'COMPLETED',
      again: new Map(),
    })
    await store.episodes.insert({ id: episode(9), task: 'echo', instance: 'i', created: 0 })
    const played = [...executions, more(9)]
    expect(await findings(played)).toMatchObject({ lost: [expect.stringContaining('metrics')], left: [] })
    const state = (await store.runs.state(run)) as TrainingState
    await store.runs.publish(run, { version: 1, state: { ...state, nextGroup: 10 } })
    expect(await findings(played)).toMatchObject({
      lost: expect.arrayContaining(['group planted/g9 has 1 executions and no entry; the next group is 10']),
      left: ['1 episodes of run planted are not sealed'],
    })
    await store.runs.publish(run, { version: 1, state })
    await store.episodes.seal(episode(9), { outcome: 'infrastructure_error', reward: null, ended: 0 })
  })

  it('finds an evaluation without a result, and work that ended otherwise than by itself or by hand', async () => {
    const of = (workflowId: string, type: string, status: string): Execution => ({
      workflowId,
      type,
      status,
      again: new Map(),
    })
    const played = [
      ...executions,
      of(`${run}/e-few-v0-1`, 'evaluation', 'TERMINATED'),
      of(`${run}/e-few-v0-1/s0/a0`, 'episode', 'CANCELLED'),
    ]
    const { lost } = await findings(played)
    expect(lost).toEqual(
      expect.arrayContaining([
        'evaluation planted/e-few-v0-1 has no result',
        'workflow planted/e-few-v0-1 ended as TERMINATED',
        'workflow planted/e-few-v0-1/s0/a0 ended as CANCELLED',
      ]),
    )
    const ended = new Set([`${run}/e-few-v0-1`])
    const byHand = await auditRun(run, { home, store, executions: played, ended })
    expect(byHand.lost.filter((sentence) => sentence.includes('e-few'))).toEqual([
      'evaluation planted/e-few-v0-1 has no result',
    ])
  })

  it('finds a group that was played twice, and one that never was', async () => {
    const [first] = executions
    const twice = first === undefined ? [] : [first, first]
    expect(await findings(twice)).toMatchObject({
      doubled: ['group planted/g0 was played by 2 executions'],
      lost: expect.arrayContaining([
        expect.stringContaining('group planted/g1 has 0 executions and status complete'),
      ]),
    })
  })

  it('finds a group in two updates, an update that is missing, and an episode that is not sealed', async () => {
    await store.updates.put({ run, step: 3, version: 2, statistics: {}, groups: [group(0)], created: 0 }, [])
    await store.episodes.insert({ id: episode(2), task: 'echo', instance: 'i', created: 0 })
    const { lost, doubled, left } = await findings()
    expect(doubled).toEqual(['group planted/g0 is in updates 1 and 3'])
    expect(lost).toContain('update 2 of run planted is missing, 3 follows')
    expect(left).toEqual(['1 episodes of run planted are not sealed'])
  })

  it('counts a turn that was tried three times as one turn with two attempts beyond the first', async () => {
    const tried = (workflowId: string, type: string, activity: string): Execution => ({
      workflowId,
      type,
      status: 'COMPLETED',
      again: new Map([[activity, { activities: 1, attempts: 2 }]]),
    })
    const played = [tried(episode(0), 'episode', 'sampleAction'), tried(run, 'trainingRun', 'updatePolicy')]
    const { turns, turnsOf, updates } = await redoneWork(run, store, played)
    expect({ turns, updates }).toEqual({ turns: 2, updates: 2 })
    expect(turnsOf).toEqual(new Map([[episode(0), 1]]))
  })

  it('finds what was finished and is gone, or was done again', () => {
    const before = new Map([
      ['turn a', '1'],
      ['turn b', '1'],
      ['turn c', '1'],
    ])
    const now = new Map([
      ['turn a', '1'],
      ['turn b', '2'],
    ])
    expect(auditFinished(before, now)).toEqual({
      lost: ['turn c was finished and is gone'],
      doubled: ['turn b was finished and was done again otherwise'],
      left: [],
    })
  })
})

it('a disposed deployment leaves no server behind that lost its last user by force', async () => {
  const folder = temporaryHome()
  const home = join(folder, 'home')
  const places = { home, logs: join(folder, 'logs'), temporary: join(folder, 'tmp') }
  const server = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
  const ended = once(server, 'exit')
  {
    await using deployment = new Deployment(places)
    writeFileSync(join(home, 'temporal.json'), JSON.stringify({ pid: server.pid }))
    expect(deployment.serverPid()).toBe(server.pid)
  }
  expect((await ended)[1]).toBe('SIGKILL')
  removeHome(folder)
})
