/** The models that an environment asks, by a real endpoint and a real store. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { asyncLocalStorage, type Context } from '@temporalio/activity'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Ask } from '../../envs/contract/question.ts'
import { episodeId, groupId, runId } from '../../identity/identity.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { type ChatReply, type ChatServer, serveChat } from '../../test/support/chat-server.ts'
import { judgedConfig } from '../../test/support/judged-task.ts'
import { createAskedModels } from './asked-models.ts'

const run = runId('asked')
const episode = episodeId(groupId(run, 0), 0, 0)
const asking = { run, episode, taskIndex: 0 }
/** The sum of 2 and 3, of which a test decides how it is answered. */
const sum = {
  messages: '2 + 3?',
  read(text: string) {
    if (!/^\d+$/.test(text)) throw new RangeError('expected digits')
    return Number(text)
  },
}

let dir: string
let store: Store
let chat: ChatServer
let replies: ChatReply[]
let reported: string[]
/** Versions that the policy was asked in. */
let sampled: number[]

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'perdure-asked-'))
  store = await openStore(join(dir, 'store.db'))
  await store.runs.insert({ id: run, config: {}, created: 1 })
  replies = []
  reported = []
  sampled = []
  chat = await serveChat(() => replies.shift() ?? { text: '5' })
})
afterEach(async () => {
  await chat[Symbol.asyncDispose]()
  await store.close()
  rmSync(dir, { recursive: true, force: true })
})

/** Models of another process: they share the store alone. */
function models(judge: object = {}, sections: Parameters<typeof judgedConfig>[1] = {}) {
  const user = { from: chat.url, model: 'm' }
  const config = judgedConfig({ judge: { ...user, timeoutSeconds: 0.2, ...judge }, user }, sections)
  return createAskedModels({
    store,
    runs: { get: async () => ({ config }) as never, close: async () => undefined },
    serving: {
      chat: async () =>
        ({
          encodeTurnWithin: () => Int32Array.of(1, 2, 3),
          stopTokens: [0],
          parseAction: () => ({ message: { role: 'assistant', content: '5' }, problems: [] }),
        }) as never,
      async sample(_, { version }) {
        sampled.push(version)
        return { version, tokens: Int32Array.of(5, 0), logprobs: new Float32Array(2), finish: 'stop' }
      },
      release: () => undefined,
    },
    reports: {
      failed: async (_, work, attempt, reason) => void reported.push(`${work} ${attempt}: ${reason}`),
      succeeded: async (_, work) => void reported.push(`${work} answered`),
    },
  })
}

/** Does a turn's work as an activity does. */
function inTurn<T>(
  turn: number,
  work: (ask: Ask) => Promise<T>,
  questions = models().of(asking),
): Promise<T> {
  const context = { cancellationSignal: new AbortController().signal, info: { attempt: 1 } }
  return asyncLocalStorage.run(context as unknown as Context, () =>
    questions.during(turn, () => work(questions.ask)),
  )
}

const kinds = async () => (await store.answers.faults(episode)).map(({ kind }) => kind)

// [ASKED-1]
it('an answer is in the store when the environment has it, and a replay in another process asks no one', async () => {
  const found = await inTurn(3, async (ask) => {
    const value = await ask.judge(sum)
    return { value, stored: await store.answers.get({ episode, turn: 3, role: 'judge', number: 0 }) }
  })
  expect(found).toMatchObject({
    value: 5,
    stored: { text: '5', source: chat.url, model: 'scripted-1', promptTokens: 10, completionTokens: 2 },
  })
  expect(await inTurn(3, (ask) => ask.judge(sum))).toBe(5)
  expect(chat.calls).toHaveLength(1)
})

it('questions of a turn are distinguished by role and order, and each turn counts from 0', async () => {
  for (const turn of [0, 1])
    await inTurn(turn, async (ask) => {
      await Promise.all([ask.judge(sum), ask.judge(sum), ask.user({ messages: 'Go on.' })])
    })
  const stored = await store.answers.list(episode)
  expect(stored.map(({ turn, role, number }) => `${turn} ${role} ${number}`)).toEqual([
    ...['0 judge 0', '0 judge 1', '0 user 0', '1 judge 0', '1 judge 1', '1 user 0'],
  ])
  expect(new Set(chat.calls.map(({ seed }) => seed)).size).toBe(6)
})

// [ASKED-2]
it('two who ask at once get one answer: in a process one asks, between processes the first to store decides', async () => {
  const here = models()
  const asked = () => inTurn(1, (ask) => ask.judge(sum), here.of(asking))
  expect(await Promise.all([asked(), asked()])).toEqual([5, 5])
  expect(chat.calls).toHaveLength(1)
  replies = [{ text: '6' }, { text: '7' }]
  const values = await Promise.all(
    [models(), models()].map((each) => inTurn(2, (ask) => ask.judge(sum), each.of(asking))),
  )
  expect(values[0]).toBe(values[1])
  expect(chat.calls).toHaveLength(3)
})

// [ASKED-3] [ASKED-6] [ASKED-7]
it.each<[string, ChatReply]>([
  ['bad_answer', { text: 'five' }],
  ['timed_out', 'hang'],
  ['unreachable', 'cut'],
  ['bad_protocol', 'garbage'],
  ['bad_protocol', 'foreign'],
  ['unreachable', { status: 503 }],
])(
  '%s is counted and reported by its name (%j); after an unreadable answer alone the next request is another',
  async (kind, reply) => {
    replies = [reply]
    expect(await inTurn(1, (ask) => ask.judge(sum))).toBe(5)
    expect(await kinds()).toEqual([kind])
    expect(reported).toEqual([
      expect.stringMatching(
        `^judge 1: question 0 of turn 1 of ${episode} to the judge \\(${chat.url}\\): ${kind}: `,
      ),
      'judge answered',
    ])
    const requests = chat.calls.map(({ seed, temperature }) => `${seed} at ${temperature}`)
    expect(new Set(requests).size).toBe(kind === 'bad_answer' ? 2 : 1)
    expect(chat.calls[1]?.temperature).toBe(kind === 'bad_answer' ? 0.5 : 0)
  },
)

// [ASKED-7]
it('a new attempt of a synchronous run asks what the failed one asked, or would have asked next; any other draws for itself', async () => {
  const next = { ...asking, episode: episodeId(groupId(run, 0), 0, 1) }
  const seedsOf = async (maxStaleness: number, turn: number, first: ChatReply) => {
    const since = chat.calls.length
    replies = [first]
    const play = (episode: typeof asking) =>
      inTurn(turn, (ask) => ask.judge(sum), models({ tries: 1 }, { rollout: { maxStaleness } }).of(episode))
    await expect(play(asking)).rejects.toBeInstanceOf(Error)
    expect(await play(next)).toBe(5)
    return new Set(chat.calls.slice(since).map(({ seed }) => seed)).size
  }
  expect(await seedsOf(0, 1, 'cut')).toBe(1)
  expect(await seedsOf(0, 2, { text: 'five' })).toBe(2)
  expect(await seedsOf(1, 3, 'cut')).toBe(2)
})

// [ASKED-3]
it('answers that cannot be read are asked for as often as configured, by all attempts together; then no one is asked', async () => {
  replies = Array.from({ length: 9 }, () => ({ text: 'five' }))
  for (const calls of [2, 3, 4]) {
    const questions = models({ tries: 2 }).of(asking)
    await expect(inTurn(1, (ask) => ask.judge(sum), questions)).rejects.toMatchObject({ kind: 'bad_answer' })
    // Each later attempt asks once more, and then knows that it was tried often enough.
    expect(chat.calls).toHaveLength(calls)
  }
})

it('an endpoint that refuses is not asked again by the same call', async () => {
  replies = [{ status: 401 }]
  await expect(inTurn(1, (ask) => ask.judge(sum))).rejects.toMatchObject({ kind: 'refused', permanent: true })
  expect(chat.calls).toHaveLength(1)
})

// [ASKED-4]
it('an environment that takes a fault for a reward of 0 fails all the same, and so does one that does not wait', async () => {
  replies = [{ status: 401 }, { status: 401 }]
  const caught = inTurn(1, (ask) => ask.judge(sum).catch(() => 0))
  await expect(caught).rejects.toMatchObject({ name: 'AskedModelFault', kind: 'refused' })
  const unawaited = inTurn(2, async (ask) => {
    ask.judge(sum).catch(() => undefined)
    return 0
  })
  await expect(unawaited).rejects.toMatchObject({ kind: 'refused' })
})

// [ASKED-5]
it('another question at the place of a stored one is refused by name, and not asked', async () => {
  await inTurn(1, (ask) => ask.judge(sum))
  await expect(inTurn(1, (ask) => ask.judge({ ...sum, messages: '2 + 4?' }))).rejects.toMatchObject({
    ...{ kind: 'other_question', permanent: true },
    message: expect.stringContaining(`question 0 of turn 1 of ${episode}`),
  })
  expect(chat.calls).toHaveLength(1)
})

it('a question outside of a call is refused', async () => {
  const questions = models().of(asking)
  await inTurn(1, (ask) => ask.judge(sum), questions)
  await expect(questions.ask.judge(sum)).rejects.toMatchObject({ kind: 'not_in_call' })
})

// [ASKED-SOURCE-1]
it('the policy answers in the version that is asked for, or in the newest until that is there', async () => {
  await store.runs.publish(run, { version: 2, state: {} as never })
  for (const [turn, version] of [undefined, 1, 7, 'newest'].entries()) {
    const questions = models({ from: 'policy', model: undefined, version }).of(asking)
    expect(await inTurn(turn, (ask) => ask.judge(sum), questions)).toBe(5)
  }
  expect(sampled).toEqual([0, 1, 2, 2])
  expect(
    (await store.answers.list(episode)).map(({ model, promptTokens, completionTokens }) => [
      model,
      promptTokens,
      completionTokens,
    ]),
  ).toEqual([0, 1, 2, 2].map((version) => [`asked@${version}`, 3, 2]))
})
