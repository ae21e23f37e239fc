/** Episodes that programs play: real processes, real requests; the policy says what the test lets it say. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { asyncLocalStorage, type Context } from '@temporalio/activity'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { configSchema } from '../../config/schema/schema.ts'
import type { Task } from '../../envs/contract/environment.ts'
import { episodeId, groupId, runId } from '../../identity/identity.ts'
import { markedProcesses } from '../../machine/processes/process-group.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { outputKey } from '../../storage/trajectories/observations.ts'
import { evenAnswer, twoTurns, writeProgram } from '../../test/support/agent-programs.ts'
import type { OpenRun } from '../stored/open-runs.ts'
import { createAgentActivities } from './agent-play.ts'
import { encoder } from './agent-session.testing.ts'

const run = runId('demo')
const episode = episodeId(groupId(run, 0), 0, 0)
let home: string
let store: Store
let task: Task
/** Samples of the policy so far. */
let sampled: number
let log: string[]

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'perdure-play-'))
  store = await openStore(join(home, 'store.db'))
  await store.runs.insert({ id: run, config: {}, created: 0 })
  task = await evenAnswer.open({})
  sampled = 0
  log = []
})

afterEach(async () => {
  await store.close()
  rmSync(home, { recursive: true, force: true })
})

interface Played {
  readonly code: string
  readonly agent?: object
  readonly attempt?: number
  readonly signal?: AbortSignal
  readonly onSample?: (count: number) => void
  /** Called when the episode has ended, while the endpoint listens. */
  readonly afterwards?: () => Promise<void>
}

/** Plays the episode once. */
async function play({ code, agent = { reward: 'file' }, attempt = 1, signal, onSample, afterwards }: Played) {
  const command = writeProgram(home, 'agent', code)
  const tasks = [{ task: 'even-answer', agent: { command, ...agent } }]
  const config = configSchema.parse({ tasks, evaluation: { suites: [] } })
  const opened = { config, task: async () => ({ definition: evenAnswer, task }) } as unknown as OpenRun
  const { runAgent, closeAgents } = createAgentActivities({
    home: homeAt(home),
    store,
    runs: { get: async () => opened, close: async () => undefined },
    serving: {
      encoder: async () => encoder,
      release: () => undefined,
      async sample(_: unknown, { maxNewTokens }: { readonly maxNewTokens: number }) {
        sampled += 1
        onSample?.(sampled)
        const text = [...encoder.tokenizer.encode(`answer ${sampled}`)].slice(0, maxNewTokens - 1)
        const tokens = Int32Array.of(...text, ...encoder.chat.stopTokens.slice(0, 1))
        return {
          tokens,
          logprobs: new Float32Array(tokens.length).fill(-1),
          version: 0,
          finish: 'stop' as const,
        }
      },
    } as never,
    models: {
      of: () => ({ ask: undefined, during: <T>(_: number, work: () => Promise<T>) => work() }),
    } as never,
    log: (line) => log.push(line),
  })
  const context = {
    cancellationSignal: signal ?? new AbortController().signal,
    info: { attempt },
    heartbeat: () => undefined,
  } as unknown as Context
  const opening = { episode, run, taskIndex: 0, split: 'train', position: 0 }
  const draws = { seed: 1, versions: { kind: 'fixed', version: 0 } as const, temperature: 1, maxTokens: 24 }
  try {
    const result = await asyncLocalStorage.run(context, () => runAgent({ ...opening, ...draws }))
    await afterwards?.()
    return result
  } finally {
    await closeAgents()
  }
}

/** Nothing of the program is left. */
async function expectGone(): Promise<void> {
  expect([...(await markedProcesses()).keys()].filter((mark) => mark.startsWith(home))).toEqual([])
  expect(existsSync(join(home, 'agents')) ? readdirSync(join(home, 'agents')) : []).toEqual([])
}

// [AGENT-PLAY-2] "answer 1" and "answer 2" have 16 characters in sum.
it('a program plays its turns and gives the reward in its file; a second attempt finds both and runs nothing', async () => {
  const result = { outcome: 'completed', reward: 0, turns: 2 }
  expect(await play({ code: twoTurns })).toEqual(result)
  expect(await store.observations.get(episode, 2)).toMatchObject({ done: true, reward: 0, messages: [] })
  expect(await play({ code: 'throw new Error("not again")', attempt: 2 })).toEqual(result)
  expect(sampled).toBe(2)
  await expectGone()
})

it('the environment grades the last answer; the last words of the program are kept with it', async () => {
  const grader = { reward: 'grader' }
  const code = 'await say([{ role: "user", content: task.prompt }]); console.log("I have said it")'
  expect(await play({ code, agent: grader })).toEqual({ outcome: 'completed', reward: 1, turns: 1 })
  expect((await store.observations.get(episode, 1))?.info).toMatchObject({ [outputKey]: 'I have said it' })
  expect((await store.observations.get(episode, 1))?.messages).toEqual([{ role: 'user', content: 'done' }])
})

// [AGENT-ENDPOINT-2]
it('a reward is posted once; a second and a wrong one are refused', async () => {
  const code = `
    await say([{ role: 'user', content: task.prompt }])
    const statuses = []
    for (const value of [Number.NaN, 0.5, 1])
      statuses.push((await post(process.env.PERDURE_REWARD_URL, { reward: value })).status)
    if (statuses.join() !== '400,200,409') throw new Error(statuses.join())`
  expect(await play({ code, agent: { reward: 'post' } })).toMatchObject({ reward: 0.5 })
})

// [AGENT-ENDPOINT-1]
it('a request without the key of an episode is refused in the form that was used', async () => {
  const code = `
    const answer = await post('/messages', { model: 'any', max_tokens: 9, messages: [] }, { authorization: 'Bearer other' })
    const { error } = await answer.json()
    if (answer.status !== 401 || error.type !== 'authentication_error') throw new Error(JSON.stringify([answer.status, error]))
    await say([{ role: 'user', content: 'look' }])
    reward({ reward: 1 })`
  expect(await play({ code })).toMatchObject({ reward: 1 })
})

// [AGENT-ENDPOINT-1]
it.each([
  ['/chat/completions', { messages: [{ role: 'user', content: 'b' }] }, /"code":"episode_ended"/],
  ['/responses', { input: 'b' }, /"code":"episode_ended"/],
  [
    '/messages',
    { max_tokens: 9, messages: [{ role: 'user', content: 'b' }] },
    /"type":"error".*the episode of this key has ended/,
  ],
])(
  'a request at %s of an episode that has ended is answered by 409, in its form',
  async (path, body, words) => {
    const kept = join(home, 'endpoint.json')
    const code = `
    writeFileSync(${JSON.stringify(kept)}, JSON.stringify([process.env.OPENAI_BASE_URL, process.env.OPENAI_API_KEY]))
    await say([{ role: 'user', content: 'a' }])
    reward({ reward: 1 })`
    let answer: Response | undefined
    const afterwards = async () => {
      const [root, key] = JSON.parse(readFileSync(kept, 'utf8'))
      answer = await fetch(`${root}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
        body: JSON.stringify({ model: 'any', ...body }),
      })
    }
    expect(await play({ code, afterwards })).toMatchObject({ reward: 1 })
    expect(answer?.status).toBe(409)
    expect(await answer?.text()).toMatch(words)
  },
)

// [AGENT-PLAY-1] [AGENT-PLAY-3]
describe('a program that', () => {
  it.each([
    [
      'crashes',
      'await say([{ role: "user", content: "a" }]); throw new Error("lost my way")',
      {},
      'crashed',
      /ended with code 1; .*lost my way/s,
    ],
    ['never asks', 'reward({ reward: 1 })', {}, 'no_turns', /before it asked/],
    [
      'gives no reward',
      'await say([{ role: "user", content: "a" }])',
      {},
      'no_reward',
      /PERDURE_RESULT_FILE/,
    ],
    [
      'posts no reward',
      'await say([{ role: "user", content: "a" }])',
      { reward: 'post' },
      'no_reward',
      /PERDURE_REWARD_URL/,
    ],
    [
      'falls silent',
      'setTimeout(() => undefined, 100_000)',
      { silentSeconds: 0.2 },
      'silent',
      /no request for 0.2 s/,
    ],
    [
      'sends too large a request',
      'await say([{ role: "user", content: "x".repeat(3000) }]).catch(() => undefined); setTimeout(() => undefined, 100_000)',
      { requestMegabytes: 0.001 },
      'body_limit',
      /more than 0.001 MB/,
    ],
    [
      'floods the endpoint',
      'for (;;) await say([], {}).catch(() => undefined)',
      {},
      'flood',
      /50 requests in a row/,
    ],
    [
      'asks in a loop for what it cannot get, in a form of its own',
      'for (;;) await post("/messages", { model: "any" })',
      {},
      'flood',
      /50 requests in a row/,
    ],
    [
      'stops asking while its children live',
      'await say([{ role: "user", content: "a" }]); const { spawn } = await import("node:child_process"); spawn("sleep", ["100"], { detached: true }); setTimeout(() => undefined, 100_000)',
      { silentSeconds: 0.5 },
      'silent',
      /no request for 0.5 s/,
    ],
    [
      'forks without end',
      'const { spawn } = await import("node:child_process"); for (let n = 0; n < 12; n++) spawn("sleep", ["100"], { detached: true }); setTimeout(() => undefined, 100_000)',
      { processLimit: 8 },
      'forks',
      /processes, at most 8/,
    ],
  ])('%s is ended by name, without a reward', async (_, code, agent, kind, message) => {
    await expect(play({ code, agent: { reward: 'file', ...agent } })).rejects.toMatchObject({
      ...{ type: 'AgentFault', details: [{ kind }], message: expect.stringMatching(message) },
    })
    expect(await store.observations.get(episode, 1)).toBeUndefined()
    await expectGone()
  })

  it.each([
    ['turns', { turnLimit: 2 }, 'turn_limit'],
    ['tokens', { tokenLimit: 30 }, 'task_limit'],
    ['seconds', { timeoutSeconds: 5, turnLimit: 1000 }, 'task_limit'],
  ])('uses up its %s has not completed', async (_, agent, outcome) => {
    const code = `
      process.on('SIGTERM', () => undefined)
      for (let n = 0; ; n++) {
        await say([{ role: 'user', content: 'number ' + n }])
        await new Promise((resolve) => setTimeout(resolve, 20))
      }`
    expect(await play({ code, agent: { reward: 'file', ...agent } })).toMatchObject({ outcome, reward: 0 })
    await expectGone()
  })

  it('ignores SIGTERM is killed, and it is reported', async () => {
    const code = `
      process.on('SIGTERM', () => undefined)
      await say([{ role: 'user', content: 'a' }])
      setTimeout(() => undefined, 100_000)
      await say([{ role: 'user', content: 'b' }]).catch(() => undefined)`
    const agent = { reward: 'file', turnLimit: 1 }
    expect(await play({ code, agent })).toMatchObject({ outcome: 'turn_limit', turns: 1 })
    expect(log).toEqual([`the agent of ${episode} ignored SIGTERM and was killed`])
    await expectGone()
  })

  it('plays when the activity is cancelled is ended with it', async () => {
    const cancelled = new AbortController()
    const code = 'for (let n = 0; ; n++) await say([{ role: "user", content: "number " + n }])'
    const onSample = (count: number) => count === 3 && cancelled.abort(new Error('cancelled'))
    await expect(play({ code, signal: cancelled.signal, onSample })).rejects.toThrow('cancelled')
    await expectGone()
  })
})
