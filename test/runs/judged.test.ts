/** Judges and simulated users in a real run: their answers are stored with the turns, and asked for once. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findRun } from '../../cli/runs/run-record.ts'
import { createLearntGroups } from '../../client/learnt-groups.ts'
import { openSession, type TrainingSession } from '../../client/session/training-session.ts'
import { trajectoryAnswer } from '../../dashboard/answers/trajectory.ts'
import { runId } from '../../identity/identity.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { exportRun } from '../../storage/export.ts'
import { readMetrics } from '../../storage/metrics/metrics.testing.ts'
import { isUpdateMetrics } from '../../storage/metrics/metrics.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { type ChatServer, serveChat } from '../support/chat-server.ts'
import { fetchHistories, replay } from '../support/executions.ts'
import { createJudgedTask, goodAnswer, judgedConfig } from '../support/judged-task.ts'
import { removeHome, temporaryHome } from '../support/perdure-process.ts'
import { createCopyingTrainer, createSpeakingEngine, sayYesOrNo } from '../support/tiny-run.ts'

const home = temporaryHome()
let session: TrainingSession
let store: Store
let chat: ChatServer

beforeAll(async () => {
  process.env.JUDGE_KEY = 'a-key-of-a-test'
  chat = await serveChat(({ question }) => ({ text: goodAnswer(question) }))
  session = await openSession({
    home,
    roles: 'all',
    log: () => undefined,
    createEngine: () => Promise.resolve(createSpeakingEngine(sayYesOrNo)),
    createTrainer: () => createCopyingTrainer(),
    findEnvironment: () => createJudgedTask(),
  })
  store = await openStore(homeAt(home).storeFile)
  const prices = { promptPrice: 1, completionPrice: 10 }
  const judge = { from: chat.url, model: 'm', apiKey: ['$', '{JUDGE_KEY}'].join(''), ...prices }
  const user = { from: chat.url, model: 'm' }
  for (const dispatch of ['local', 'server']) {
    const sections = { orchestration: { dispatch }, rollout: { maxStaleness: 0 }, training: { updates: 2 } }
    await session.start(dispatch, judgedConfig({ judge, user }, sections))
    await session.result(dispatch)
  }
}, 120_000)

afterAll(async () => {
  await store?.close()
  await session?.close()
  await chat?.[Symbol.asyncDispose]()
  removeHome(home)
})

it('answers are exported with their turns', async () => {
  for (const format of ['jsonl', 'parquet'] as const)
    await exportRun(store, runId('local'), { format, out: join(home, `run.${format}`) })
  const [row] = readFileSync(join(home, 'run.jsonl'), 'utf8').split('\n')
  const { answers } = JSON.parse(row ?? '') as { readonly answers: readonly object[] }
  expect(answers).toHaveLength(7)
  expect(answers[1]).toEqual({
    ...{ turn: 1, role: 'judge', model: 'scripted-1' },
    question: expect.stringMatching(/^mark word 1 of train/),
    answer: expect.stringMatching(/^0\.\d$/),
  })
  const [same] = await parquetReadObjects({ file: await asyncBufferFromFile(join(home, 'run.parquet')) })
  expect(same?.answers).toEqual(answers)
})

it('the page has them beside the observation that follows from them', async () => {
  const [episode] = await store.episodes.page(runId('local'), '', 1)
  const shown = { home: homeAt(home), store, temporalPage: () => ({}) }
  const parts = { learnt: createLearntGroups(shown), tokenizers: { of: async () => undefined } }
  const { turns } = await trajectoryAnswer(shown as never, parts as never, episode?.id ?? '')
  expect(turns.map(({ observation: { answers = [] } }) => answers.map(({ role }) => role))).toEqual([
    ...[['user'], ['judge', 'user'], ['judge', 'user']],
  ])
  expect(turns[1]?.observation.answers?.[0]).toMatchObject({ source: chat.url, tokens: 12, faults: [] })
})

describe.each(['local', 'server'])('with %s dispatch', (name) => {
  const episodes = () => store.episodes.page(runId(name), '', 1000)

  // [ASKED-1]
  it('each turn has its answers in the store, and its reward is the mark of the judge', async () => {
    const played = await episodes()
    expect(played).toHaveLength(8)
    for (const { id, seal } of played) {
      const answers = await store.answers.list(id)
      // The reset asks the user, each of three turns both.
      expect(answers.map(({ turn, role, number }) => `${turn} ${role} ${number}`)).toEqual([
        '0 user 0',
        ...[1, 2, 3].flatMap((turn) => [`${turn} judge 0`, `${turn} user 0`]),
      ])
      for (const { text, messages, source, model } of answers)
        expect({ text, source, model }).toEqual({
          ...{ text: goodAnswer(messages[0]?.content ?? ''), source: chat.url, model: 'scripted-1' },
        })
      const marks = answers.filter(({ role }) => role === 'judge').map(({ text }) => Number(text))
      const paid = (await store.observations.list(id)).slice(1).map(({ reward }) => reward)
      expect(paid).toEqual(marks)
      expect(seal).toMatchObject({ outcome: 'completed', reward: marks.reduce((sum, mark) => sum + mark, 0) })
    }
  })

  it('tokens and costs are counted: 10 and 2 tokens of a question, at 1 and 10 a million for the judge', async () => {
    const played = await episodes()
    const totals = await store.answers.totals([...new Set(played.map(({ parent }) => parent))])
    // 8 episodes of 7 questions; 24 of them to the judge, at (10 + 2 · 10) millionths.
    expect(totals).toMatchObject({ answers: 56, faults: 0, tokens: 56 * 12 })
    expect(totals.cost).toBeCloseTo((24 * 30) / 1e6, 12)
    const lines = readMetrics(homeAt(home).run(runId(name)).metricsFile).filter(isUpdateMetrics)
    // Each of two updates learns from half of them.
    expect(lines.map(({ asked }) => asked)).toEqual(
      [1, 2].map(() => ({ answers: 28, faults: 0, tokens: 336, cost: expect.closeTo((12 * 30) / 1e6, 12) })),
    )
    expect(await findRun(home, name)).toMatchObject({ asked: { answers: 56, faults: 0, tokens: 672 } })
  })
})

it('each question is asked once, with the secret of its model alone', () => {
  // Two runs of 8 episodes of 7 questions.
  expect(chat.calls).toHaveLength(112)
  const keys = Map.groupBy(chat.calls, ({ question }) => question.split(' ')[0])
  expect(new Set(keys.get('mark')?.map(({ authorization }) => authorization))).toEqual(
    new Set(['Bearer a-key-of-a-test']),
  )
  expect(new Set(keys.get('answer')?.map(({ authorization }) => authorization))).toEqual(new Set([undefined]))
})

it('a branch has the answers of the turns that it begins with, and asks for those of its own alone', async () => {
  const [origin] = await store.episodes.page(runId('local'), '', 1)
  const before = chat.calls.length
  const { samples } = await session.branch(origin?.id ?? '', { turn: 1 })
  const [branch] = samples
  // Two turns of two questions.
  expect(chat.calls.slice(before)).toHaveLength(4)
  const [own, others] = await Promise.all(
    [branch?.episode, origin?.id].map((id) => store.answers.list(id as NonNullable<typeof id>)),
  )
  expect(own).toHaveLength(7)
  expect(own?.slice(0, 3).map(({ text }) => text)).toEqual(others?.slice(0, 3).map(({ text }) => text))
  expect(own?.map(({ promptTokens }) => promptTokens)).toEqual([0, 0, 0, 10, 10, 10, 10])
})

it('every execution replays', async () => {
  expect(await replay(await fetchHistories(home))).toEqual([])
})
