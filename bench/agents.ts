/**
 * The cost of the endpoint that agents' programs ask in training: CPU of this process per turn, its memory, and how soon a stream begins.
 *
 * Invariants
 * - Sessions, endpoint, forms, tokenizer and store are those of a run; only the policy answers at once, so that nothing of sampling is
 *   counted, and the programs are in a process of their own.
 * - Memory is compared with that after a tenth of the turns, when everything is loaded, both times after a collection.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type AgentEndpoint, createAgentEndpoint } from '../activities/agents/agent-endpoint.ts'
import { AgentSession } from '../activities/agents/agent-session.ts'
import { episodeId, groupId, runId, seedOf } from '../identity/identity.ts'
import { Chat } from '../policy/chat/chat.ts'
import type { PromptEncoder } from '../policy/endpoint/prompt-encoder.ts'
import { RequestFault } from '../policy/endpoint/request-fault.ts'
import { compactAddedTokens } from '../policy/templates/compact-template.ts'
import { trainTokenizer } from '../policy/tokenizer/byte-pair-training.ts'
import { Tokenizer } from '../policy/tokenizer/tokenizer.ts'
import { openStore, type Store } from '../storage/store.ts'
import type { Begun, Ended } from './agents/conversations.ts'
import type { Figure } from './figure.ts'

const concurrent = 64
const turnsOfEpisode = 20
const answerTokens = 64
const run = runId('agents')
const slowSeconds = 60

interface Stage {
  readonly store: Store
  readonly endpoint: AgentEndpoint
  readonly encoder: PromptEncoder
  readonly programs: ChildProcess
}

interface Options {
  /** Turns in all. */
  readonly turns?: number
}

export async function bench({ turns = 10_000 }: Options = {}): Promise<Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-bench-agents-'))
  const programs = fork(fileURLToPath(new URL('./agents/conversations.ts', import.meta.url)))
  const store = await openStore(join(folder, 'store.db'))
  const endpoint = createAgentEndpoint()
  const stage = { store, endpoint, encoder: encoderOf(), programs }
  try {
    await store.runs.insert({ id: run, config: {}, created: 0 })
    const tenth = Math.ceil(turns / turnsOfEpisode / 10)
    await playEpisodes(stage, { from: 0, count: tenth })
    const before = await memory()
    const measured = await measure(stage, { from: tenth, count: 9 * tenth })
    const after = await memory()
    console.error(`a turn of ${slowSeconds} s`)
    const slow = await play(stage, { number: 10 * tenth, seconds: slowSeconds })
    return [
      ...measured,
      {
        name: 'heap',
        value: after.heap,
        unit: 'MB',
        reference: before.heap,
        ratio: after.heap / before.heap,
      },
      {
        name: 'resident memory',
        value: after.resident,
        unit: 'MB',
        reference: before.resident,
        ratio: after.resident / before.resident,
      },
      { name: `first byte of a turn of ${slowSeconds} s`, value: slow.firstByte, unit: 'ms' },
      { name: `longest silence of a turn of ${slowSeconds} s`, value: slow.longestSilence, unit: 'ms' },
    ]
  } finally {
    programs.kill()
    await endpoint.close()
    await store.close()
    await rm(folder, { recursive: true, force: true })
  }
}

function encoderOf(): PromptEncoder {
  const texts = ['The lamp is on the desk near the window, and the drawer below it is locked. Take the key.']
  const tokenizer = Tokenizer.parse(
    trainTokenizer(texts, { vocabularySize: 400, addedTokens: compactAddedTokens([]) }),
  )
  return { tokenizer, chat: new Chat('compact', tokenizer) }
}

async function measure(stage: Stage, episodes: { readonly from: number; readonly count: number }) {
  const before = process.cpuUsage()
  const began = performance.now()
  await playEpisodes(stage, episodes)
  const seconds = (performance.now() - began) / 1000
  const { user, system } = process.cpuUsage(before)
  const turns = episodes.count * turnsOfEpisode
  const cpu = (user + system) / 1000 / turns
  return [
    { name: `cpu of ${concurrent} agents`, value: cpu, unit: 'ms/turn', reference: 2, ratio: cpu / 2 },
    { name: 'turns', value: turns / seconds, unit: 'turns/s' },
  ]
}

async function playEpisodes(
  stage: Stage,
  { from, count }: { readonly from: number; readonly count: number },
) {
  let next = from
  const player = async (): Promise<void> => {
    while (next < from + count) await play(stage, { number: next++ })
  }
  await Promise.all(Array.from({ length: concurrent }, player))
}

/** Plays an episode. @param seconds of its only turn, where it is a slow one that is streamed */
async function play(
  { store, endpoint, encoder, programs }: Stage,
  { number, seconds }: { readonly number: number; readonly seconds?: number },
): Promise<Ended> {
  const episode = episodeId(groupId(run, number), 0, 0)
  await store.episodes.insert({ id: episode, task: 'talk', instance: `train/${number}`, created: 0 })
  const { chat, tokenizer } = encoder
  const said = Int32Array.of(
    ...tokenizer.encode('Take the key to the lamp. '.repeat(40)).slice(0, answerTokens - 1),
    ...chat.stopTokens.slice(0, 1),
  )
  const session = await AgentSession.open({
    ...{ episode, run, store, encoder, temperature: 1, attempt: 1 },
    serving: {
      async sample() {
        if (seconds !== undefined) await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
        return { tokens: said, logprobs: new Float32Array(said.length), version: 0, finish: 'stop' }
      },
      release: () => undefined,
    },
    limits: { turnLimit: 1000, tokenLimit: 1e9, contextLength: 1e6, maxTokens: answerTokens },
    draw: async (branch, turn) => ({ version: 0, exactVersion: true, seed: seedOf(branch, turn) }),
  })
  const { root, key, close } = await endpoint.open({
    largestBody: 1e7,
    sentTooMuch: () => new RequestFault('too_large', 'too large'),
    answer: session.answer.bind(session),
    refused: session.refused.bind(session),
    takeReward: () => undefined,
  })
  const isStreamed = seconds !== undefined
  const ended = await converse(programs, { root, key, turns: isStreamed ? 1 : turnsOfEpisode, isStreamed })
  close()
  await session.close()
  if (ended.fault !== undefined) throw new Error(ended.fault)
  return ended
}

function converse(programs: ChildProcess, begun: Begun): Promise<Ended> {
  return new Promise((resolve) => {
    const listen = (ended: Ended): void => {
      if (ended.key !== begun.key) return
      programs.off('message', listen)
      resolve(ended)
    }
    programs.setMaxListeners(2 * concurrent).on('message', listen)
    programs.send(begun)
  })
}

/** Megabytes after a collection. */
async function memory(): Promise<{ readonly heap: number; readonly resident: number }> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  for (let times = 0; times < 3; times++) {
    collect()
    await new Promise(setImmediate)
  }
  const { heapUsed, rss } = process.memoryUsage()
  return { heap: heapUsed / 1e6, resident: rss / 1e6 }
}
