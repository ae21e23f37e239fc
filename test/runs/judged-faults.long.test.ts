/**
 * 200 faults of judges and simulated users: 160 answers that are none, 20 steps that are played again, and 20 kills of the
 * endpoint and of all of Perdure. Rewards, messages and answers are those of a run without any.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openSession } from '../../client/session/training-session.ts'
import { EnvironmentFault } from '../../envs/contract/environment.ts'
import { groupId, runId } from '../../identity/identity.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { type ChatReply, type ChatServer, serveChat } from '../support/chat-server.ts'
import {
  createJudgedTask,
  goodAnswer,
  type JudgedOptions,
  synchronousJudged,
} from '../support/judged-task.ts'
import { episodesOf } from '../support/open-episodes.ts'
import { killServer, removeHome, temporaryHome } from '../support/perdure-process.ts'
import { createCopyingTrainer, createSpeakingEngine, sayYesOrNo } from '../support/tiny-run.ts'

const run = runId('judged')
const updates = 5
const groups = Array.from({ length: 4 * updates }, (_, number) => groupId(run, number))
const homes = { undisturbed: temporaryHome(), answers: temporaryHome(), kills: temporaryHome() }
type Name = keyof typeof homes

/** Replies that are no answer, each with the name of the fault. */
const bad: readonly (readonly [ChatReply, string, number])[] = [
  ['hang', 'timed_out', 40],
  [{ text: 'rather good' }, 'bad_answer', 40],
  ['garbage', 'bad_protocol', 20],
  ['foreign', 'bad_protocol', 20],
  ['cut', 'unreachable', 30],
  [{ status: 503 }, 'unreachable', 10],
]
const replayed = 20
const kills = { ofEndpoint: 14, ofPerdure: 6 }

let undisturbed: unknown

beforeAll(async () => {
  await using chat = await serveChat(({ question }) => ({ text: goodAnswer(question) }))
  await playIn('undisturbed', chat)
  undisturbed = await played('undisturbed')
}, 300_000)
afterAll(() => {
  for (const home of Object.values(homes)) removeHome(home)
})

/** Plays the run in this process. @returns the lines of its log */
async function playIn(name: Name, chat: ChatServer, options: JudgedOptions = {}): Promise<string[]> {
  const log: string[] = []
  const session = await openSession({
    home: homes[name],
    roles: 'all',
    log: (line) => log.push(line),
    createEngine: () => Promise.resolve(createSpeakingEngine(sayYesOrNo)),
    createTrainer: () => createCopyingTrainer(),
    findEnvironment: () => createJudgedTask(options),
  })
  try {
    await session.start(run, synchronousJudged(chat.url, updates, { timeoutSeconds: 0.5 }))
    expect(await session.result(run)).toMatchObject({ phase: 'done', step: updates })
    return log
  } finally {
    await session.close()
  }
}

const storeOf = (name: Name): Promise<Store> => openStore(homeAt(homes[name]).storeFile, { create: false })

/** All that is stored of a run's episodes but times: actions, observations with their rewards, answers, seals. */
async function played(name: Name) {
  await using store = await storeOf(name)
  const episodes = await store.episodes.page(run, '', 1000)
  const found = episodes.map(async ({ id, instance, seal: { ended: _, ...seal } }) => ({
    ...{ id, instance, seal },
    actions: await store.actions.list(id),
    observations: await store.observations.list(id),
    answers: (await store.answers.list(id)).map(({ turn, role, number, hash, text: said }) => ({
      ...{ turn, role, number, hash, said },
    })),
  }))
  return JSON.stringify(await Promise.all(found))
}

async function faultsOf(name: Name) {
  await using store = await storeOf(name)
  const episodes = await store.episodes.page(run, '', 1000)
  return {
    faults: (await Promise.all(episodes.map(({ id }) => store.answers.faults(id)))).flat(),
    totals: await store.answers.totals(run),
  }
}

// 40 episodes of one question at the reset and two in each of three turns.
const questions = 40 * 7

it('180 times no answer or a step that is played again: nothing changes, each question is answered once, each fault is named', async () => {
  const plan = bad.flatMap(([reply, , count]) => Array.from({ length: count }, () => reply))
  // The user may say anything: its answer can have no other form.
  const isReadable = (question: string) => !question.startsWith('mark')
  const met = new Set<string>()
  await using chat = await serveChat(({ question }) => {
    const first = !met.has(question)
    met.add(question)
    const at = plan.findIndex(
      (reply) => !(typeof reply === 'object' && 'text' in reply && isReadable(question)),
    )
    const [reply] = first && at !== -1 ? plan.splice(at, 1) : []
    return reply ?? { text: goodAnswer(question) }
  })
  const lost = new Set<string>()
  const log = await playIn('answers', chat, {
    afterWord(place) {
      if (lost.size === replayed || lost.has(place)) return
      lost.add(place)
      throw new EnvironmentFault('backend', `the machine is gone after ${place}`)
    },
  })
  expect(plan).toEqual([])
  expect(lost.size).toBe(replayed)
  expect(await played('answers')).toBe(undisturbed)
  expect(chat.calls.filter(({ ending }) => ending === 'answer')).toHaveLength(questions + 40)
  expect(chat.calls).toHaveLength(questions + 160)
  const { faults, totals } = await faultsOf('answers')
  const named = Map.groupBy(faults, ({ kind }) => kind)
  expect(Object.fromEntries([...named].map(([kind, all]) => [kind, all.length]))).toEqual({
    ...{ timed_out: 40, bad_answer: 40, bad_protocol: 40, unreachable: 40 },
  })
  for (const { kind, reason, episode, role } of faults)
    expect(reason).toMatch(new RegExp(`question \\d of turn \\d of ${episode} to the ${role} .*: ${kind}: `))
  expect(totals).toMatchObject({ answers: questions, faults: 160 })
  expect(log.join('\n')).toMatch(
    /a question to the (judge|simulated user) failed in attempt 1 .*: (timed_out|bad_|unreach)/,
  )
}, 300_000)

const program = join(import.meta.dirname, '../support/tiny-process.ts')

function begin(order: 'start' | 'resume', url: string): ChildProcess {
  return spawn(process.execPath, [program, order, homes.kills, run, `${updates}`, url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

it('the endpoint and all of Perdure are killed 20 times: nothing changes, and no stored answer is asked for again', async () => {
  const events = Array.from({ length: kills.ofEndpoint + kills.ofPerdure }, (_, index) =>
    index % 3 === 2 ? 'perdure' : 'endpoint',
  )
  expect(events.filter((event) => event === 'perdure')).toHaveLength(kills.ofPerdure)
  /** Questions whose answers were stored, with the number of calls before which that was seen. */
  const stored: { readonly question: string; readonly calls: number }[] = []
  const calls: string[] = []
  const answeredBetween = 12
  let answered = 0
  let hold = Promise.withResolvers<void>()
  const reply = async ({ question }: { readonly question: string }): Promise<ChatReply> => {
    calls.push(question)
    if (answered >= answeredBetween) {
      hold.resolve()
      return 'hang'
    }
    answered += 1
    return { text: goodAnswer(question) }
  }
  let chat = await serveChat(reply)
  const port = Number(new URL(chat.url).port)
  let child = begin('start', chat.url)
  for (const event of events) {
    await hold.promise
    if (event === 'perdure') {
      child.kill('SIGKILL')
      killServer(homes.kills)
      await once(child, 'exit')
      await using store = await storeOf('kills')
      for (const { id } of await episodesOf(store, groups))
        for (const { messages } of await store.answers.list(id))
          stored.push({ question: messages[0]?.content ?? '', calls: calls.length })
    } else await chat[Symbol.asyncDispose]()
    hold = Promise.withResolvers()
    answered = 0
    if (event === 'perdure') child = begin('resume', chat.url)
    else chat = await serveChat(reply, port)
  }
  answered = Number.NEGATIVE_INFINITY
  const said = await text(child.stdout as NonNullable<typeof child.stdout>)
  await chat[Symbol.asyncDispose]()
  expect(JSON.parse(said)).toMatchObject({ phase: 'done', step: updates })
  expect(await played('kills')).toBe(undisturbed)
  const { faults, totals } = await faultsOf('kills')
  expect(totals.answers).toBe(questions)
  expect(new Set(faults.map(({ kind }) => kind))).toEqual(new Set(['unreachable']))
  // The two samples of a group begin with the same words.
  const own = stored.filter(({ question }) => !question.startsWith('begin'))
  expect(own.length).toBeGreaterThan(20)
  for (const { question, calls: before } of own) expect(calls.slice(before)).not.toContain(question)
}, 600_000)
