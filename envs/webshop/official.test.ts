import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import type { AssistantMessage } from '../../messages/message.ts'
import { sharedData } from '../../test/support/shared-data.ts'
import { termsOf } from '../../worlds/search/analyzer.ts'
import type { Environment, StepResult } from '../contract/environment.ts'
import { replayLines } from '../contract/replay.ts'
import { webshop } from './definition.ts'
import { openOfficialShop } from './official.ts'
import { createSession, type GoalLibrary } from './shop-session.ts'
import { clickCall, searchCall } from './tools.ts'

// The whole shop is read and indexed: on a busy machine that takes longer than the usual limit.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const dir = sharedData('webshop')
const missing = existsSync(dir) ? false : `no official shop in ${dir}`

const step = z.object({
  action: z.string(),
  obs: z.string(),
  avail: z.object({ has_search_bar: z.boolean(), clickables: z.array(z.string()) }),
  reward: z.number(),
  done: z.boolean(),
})
const episodeSchema = z.object({
  idx: z.number(),
  goal: z.object({ asin: z.string() }),
  info: z.record(z.string(), z.union([z.number(), z.boolean()])).nullable(),
  steps: z.array(step),
})
const rewardsSchema = z.array(
  z.object({ idx: z.number(), title_score: z.number(), r_type: z.number(), reward: z.number() }),
)

function linesOf(file: string): string[] {
  return readFileSync(path.join(dir, file), 'utf8').trim().split('\n')
}

/** The tool call of a recorded action such as `search[red shoes]`. */
function actionOf(recorded: string): AssistantMessage {
  const [, name, text = ''] = /^(search|click)\[(.*)\]$/s.exec(recorded) ?? []
  const call = name === 'search' ? searchCall(text) : clickCall(text)
  return { role: 'assistant', content: '', tool_calls: [call] }
}

describe.skipIf(missing)(`the official shop${missing ? ` (skipped: ${missing})` : ''}`, () => {
  let library: GoalLibrary
  let episodes: z.infer<typeof episodeSchema>[] = []
  beforeAll(async () => {
    library = await openOfficialShop(dir, undefined)
    episodes = linesOf('sample_golden_episodes_20.jsonl').map((line) => episodeSchema.parse(JSON.parse(line)))
  })
  afterAll(() => library.close())

  function sessionWith(nouns: GoalLibrary['nouns']): Environment {
    const { shop } = library
    const goalOf = library.open.bind(library)
    return createSession({ shop, nouns, goalOf, systemPrompt: '', pages: 'official', showAttributes: false })
  }

  test('terms and rankings are those of the official index', () => {
    for (const line of linesOf('sample_bm25_golden_200.tsv')) {
      const [query = '', analysed = '', ranking = ''] = line.split('\t')
      // The sample lists each term once.
      expect([...new Set(termsOf(query))].join(' ')).toBe(analysed)
      const expected = ranking.split(' ').map((entry) => entry.split(':')[0])
      expect(library.shop.find(query), query).toEqual(expected)
    }
  })

  test('recorded episodes are the same at every step: pages, clickables, rewards and their parts', async () => {
    // The recorded ones were judged with every word of a title as a noun.
    const session = sessionWith({
      nounsOf: async (_, title) => title.toLowerCase().split(/\s+/).filter(Boolean),
    })
    for (const { idx, steps, info } of episodes) {
      for (const { action, obs, avail, reward, done } of steps) {
        const result: Partial<StepResult> =
          action === 'reset' ? await session.reset(`synthetic/${idx}`) : await session.step(actionOf(action))
        const where = `episode ${idx}, ${action}`
        expect(result.info, where).toMatchObject({
          observation: obs,
          clickables: avail.clickables,
          hasSearchBar: avail.has_search_bar,
        })
        expect(result.reward ?? 0, where).toBeCloseTo(reward, 9)
        expect(result.done ?? false, where).toBe(done)
        if (!done) continue
        for (const [part, value] of Object.entries(info ?? {}))
          if (typeof value === 'number')
            expect(result.info?.[part], `${where}, ${part}`).toBeCloseTo(value, 9)
          else expect(result.info?.[part], `${where}, ${part}`).toBe(value)
      }
    }
  })

  test('with the nouns that spaCy found, replayed episodes earn the rewards of the original', async () => {
    const rewards = rewardsSchema.parse(
      JSON.parse(readFileSync(path.join(dir, 'sample_golden_rewards_spacy.json'), 'utf8')),
    )
    const task = await webshop.open({ dataDir: dir })
    async function* lines(): AsyncGenerator<string> {
      for (const { idx, steps } of episodes)
        yield JSON.stringify({
          instance: `synthetic/${idx}`,
          actions: steps.slice(1).map(({ action }) => actionOf(action)),
        })
    }
    let bought = 0
    for await (const answer of replayLines(task, lines())) {
      if (!('steps' in answer)) throw new Error(answer.error)
      const wanted = rewards.find(({ idx }) => answer.instance === `synthetic/${idx}`)
      const last = answer.steps.at(-1)
      expect(last?.done).toBe(wanted !== undefined)
      if (wanted === undefined) continue
      bought++
      expect(answer).toMatchObject({ outcome: 'completed' })
      expect(answer.reward).toBeCloseTo(wanted.reward, 9)
      expect(last?.info).toMatchObject({ r_type: wanted.r_type })
      expect(last?.info.title_score).toBeCloseTo(wanted.title_score, 9)
    }
    expect(bought).toBe(rewards.length)
    await task.close()
  })

  test('goals that people wrote have their numbers in the full shop', () => {
    const human = library.splits.find(({ name }) => name === 'human')
    expect(human?.size).toBe(13)
    const goal = library.open('human/4999')
    expect(goal).toMatchObject({ productId: 'B07FYPSNH8', attributes: ['gluten free'], options: [] })
    expect(() => library.open('human/0')).toThrow(/in the shop/)
  })

  test('splits part the goals as the original does, and name each by one id', () => {
    expect(library.splits.map(({ name, size }) => [name, size])).toEqual([
      ['synthetic', 6910],
      ['human', 13],
      ['train', 5410],
      ['validation', 1000],
      ['test', 500],
    ])
    expect(library.instanceAt('train', 0)).toBe('synthetic/1500')
    expect(library.instanceAt('test', -1)).toBe('synthetic/499')
    expect(library.open('validation/3')).toEqual(library.open('synthetic/503'))
  })
})
