/** A policy that writes garbage, in a real run on household games: answered, counted, penalized, survived. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openSession, type RunProgress, type TrainingSession } from '../../client/session/training-session.ts'
import { parseEpisodeId, runId, uniforms } from '../../identity/identity.ts'
import type { Chat } from '../../policy/chat/chat.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { removeHome, temporaryHome } from '../support/perdure-process.ts'
import { createCopyingTrainer, createSpeakingEngine, tinyConfig, tokensOf } from '../support/tiny-run.ts'

const run = runId('garbage')
const home = temporaryHome()
const maxTokensPerTurn = 11_000
const look = '<tool_call>{"name":"take_action","arguments":{"action":"look"}}</tool_call>'

/** Tokens without an end: the engine cuts them at the limit of a turn. */
function endless(chat: Chat, text: string): number[] {
  const [token = 0] = tokensOf(chat, text)
  return Array.from({ length: maxTokensPerTurn + 1 }, () => token)
}

type Garbage = (chat: Chat, seed: number) => string | readonly number[]

/** Every one of them is unusable, however often it is said. */
const garbage: Readonly<Record<string, Garbage>> = {
  'random tokens of the whole vocabulary': (_, seed) => {
    const draw = uniforms(seed)
    return Array.from({ length: 200 }, () => Math.floor(draw() * 300))
  },
  'random bytes': (_, seed) => {
    const draw = uniforms(seed)
    return String.fromCharCode(...Array.from({ length: 200 }, () => Math.floor(draw() * 256)))
  },
  'half a tool call': () => look.slice(0, look.length / 2),
  'a call of an unknown tool': () => look.replace('take_action', 'rm_rf'),
  'a call without its argument': () => '<tool_call>{"name":"take_action","arguments":{}}</tool_call>',
  '10,000 open brackets': () => `<tool_call>${'['.repeat(10_000)}`,
  '10,000 open objects in a call': () => `<tool_call>${'{"name":'.repeat(1250)}</tool_call>`,
  'control tokens': ({ stopTokens }) => {
    const [end = 0] = stopTokens
    return Array.from({ length: 8 }, (_, i) => end - 1 - (i % 4)) // those that start messages are before it
  },
  nothing: ({ stopTokens }) => [...stopTokens],
  'words without a call': () => 'I would rather not.',
  'a text that is cut at the limit': (chat) => endless(chat, 'a'),
}
const kinds = Object.keys(garbage)
/** Between usable actions, so that the episode continues to its end. */
const wavering = kinds.length
const turnLimit = 7

/** How often the policy has spoken: each of its messages and of those to it ends with an end token. */
function actionsIn(context: Int32Array, { stopTokens }: Chat): number {
  const ends = context.filter((token) => stopTokens.includes(token)).length
  return Math.floor((ends - 2) / 2)
}

let session: TrainingSession
let store: Store
let progress: RunProgress

beforeAll(async () => {
  session = await openSession({
    home,
    roles: 'all',
    log: () => undefined,
    createEngine: () =>
      Promise.resolve(
        createSpeakingEngine(({ cacheKey, seed, context }, chat) => {
          const { sample } = parseEpisodeId(cacheKey)
          if (sample < kinds.length) return garbage[kinds[sample] ?? '']?.(chat, seed) ?? ''
          return actionsIn(context, chat) % 3 === 2 ? look : look.slice(0, 30)
        }),
      ),
    createTrainer: () => createCopyingTrainer(),
  })
  const config = tinyConfig(
    {
      rollout: { groupSize: kinds.length + 1, groupsPerUpdate: 2, maxTokensPerTurn, invalidActionLimit: 3 },
      policy: { contextLength: 262_144 },
      training: { updates: 2 },
    },
    'alfworld',
  )
  await session.start(run, { ...config, tasks: config.tasks.map((task) => ({ ...task, turnLimit })) })
  progress = await session.result(run)
  store = await openStore(homeAt(home).storeFile)
}, 120_000)

afterAll(async () => {
  await store?.close()
  await session?.close()
  removeHome(home)
})

async function episodesOf(sample: number) {
  const all = await store.episodes.page(run, '', 1000)
  return all.filter((episode) => episode.sample === sample)
}

describe('a policy that writes garbage', () => {
  it('ends no run and no process', () => {
    expect(progress).toMatchObject({ phase: 'done', step: 2, episodes: 4 * (kinds.length + 1) })
  })

  it.each(kinds.map((kind, sample) => [kind, sample] as const))(
    '%s: each action is answered, and the third in a row ends the episode with the penalty',
    async (_, sample) => {
      const episodes = await episodesOf(sample)
      expect(episodes).toHaveLength(4)
      for (const { id, seal } of episodes) {
        expect(seal).toMatchObject({ outcome: 'invalid_action', reward: -0.2, turns: 3 })
        const observations = await store.observations.list(id)
        for (const { messages, info } of observations.slice(1)) {
          expect(info.invalid).toBe(true)
          expect(messages[0]?.role).toMatch(/tool|user/)
          expect(messages[0]?.content).toMatch(/call|tool|message|action/i)
          expect(messages[0]?.content.length).toBeLessThan(500)
        }
      }
    },
  )

  it('and a usable action now and then is played on, up to the turn limit, and its problems are counted', async () => {
    for (const { id, seal } of await episodesOf(wavering)) {
      const observations = await store.observations.list(id)
      const invalid = observations.filter(({ info }) => info.invalid === true).length
      expect(seal).toMatchObject({ outcome: 'turn_limit', reward: -0.2, turns: turnLimit, problems: invalid })
      expect(invalid).toBe(turnLimit - 2)
    }
  })
})
