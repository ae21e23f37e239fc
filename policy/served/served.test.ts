/** Servers that load, die, hang, flood and lie. The policy is small, so that what they should say is known. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { uniforms } from '../../identity/identity.ts'
import { areSpansOf, tokenVersions } from '../../learning/run/version-spans.ts'
import { publishCheckpoint } from '../checkpoints/checkpoint.ts'
import { llamaCppProtocol } from '../dialects/llama-cpp.ts'
import type { SamplingRequest } from '../engines/engine.ts'
import { randomWeights } from '../sampler/random-weights.testing.ts'
import { smallArchitecture } from '../transformer/small-architecture.testing.ts'
import { checkedPart } from './checked-answer.ts'
import { type Behaviour, type HostileServer, silence, startHostileServer } from './hostile-server.testing.ts'
import { openServedEngine, SampledSpans, type ServedEngine, type ServedEngineSettings } from './served.ts'
import type { Answer, Ask } from './server-protocol.ts'

const vocabulary = smallArchitecture.vocab_size
let root: string
let checkpoint: string

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'served-'))
  checkpoint = join(root, '0')
  await publishCheckpoint(checkpoint, {
    architecture: smallArchitecture,
    weights: randomWeights(smallArchitecture, uniforms(1)),
    tokenizer: '{}',
    state: { version: 0, step: 0, chat: 'compact', facts: {} },
  })
})

afterAll(() => rm(root, { recursive: true, force: true }))

/** Two tokens whose logits are 1 apart: at temperature t their logprobs are 1 / t apart. */
function logprobs(temperature: number): readonly [number, number] {
  const rest = Math.log1p(Math.exp(-1 / (temperature || 1)))
  return [-rest, -rest - 1 / (temperature || 1)]
}

/** An honest server of a policy that always says token 5. */
const honest: Behaviour = ({ path, body }) => {
  if (path === '/health') return { status: 'ok' }
  const { prompt, n_predict, temperature, post_sampling_probs } = body
  const [first, second] = logprobs(temperature)
  const one = post_sampling_probs
    ? {
        id: 5,
        prob: Math.exp(first),
        top_probs: [
          { id: 5, prob: Math.exp(first) },
          { id: 6, prob: Math.exp(second) },
        ],
      }
    : {
        id: 5,
        logprob: first,
        top_logprobs: [
          { id: 5, logprob: first },
          { id: 6, logprob: second },
        ],
      }
  return {
    tokens: Array.from({ length: n_predict }, () => 5),
    completion_probabilities: Array.from({ length: n_predict }, () => one),
    tokens_evaluated: prompt.length,
  }
}

/** Honest to the canary, which comes at the start; then as the test says. */
function afterCanary(behaviour: Behaviour): Behaviour {
  return (call, response) =>
    call.path === '/health' || call.body.prompt.length === 12
      ? honest(call, response)
      : behaviour(call, response)
}

async function server(behaviour: Behaviour, port?: number): Promise<HostileServer> {
  const started = await startHostileServer(behaviour, port)
  onTestFinished(() => started.close().catch(() => undefined))
  return started
}

async function engineOf(
  urls: readonly string[],
  change: Partial<ServedEngineSettings> = {},
): Promise<ServedEngine> {
  const engine = await openServedEngine(llamaCppProtocol, {
    run: 'demo',
    urls,
    apiKey: undefined,
    contextLength: 64,
    answerMs: 30_000,
    log: () => undefined,
    modelOf: async () => ({ vocabulary, score: undefined }),
    ...change,
  })
  onTestFinished(() => engine.close())
  return engine
}

function request(change: Partial<SamplingRequest> = {}): SamplingRequest {
  return {
    cacheKey: 'episode',
    borders: [],
    context: Int32Array.of(1, 2, 3),
    version: 0,
    maxNewTokens: 4,
    temperature: 0.8,
    stopTokens: [],
    seed: 11,
    ...change,
  }
}

describe('an honest server', () => {
  // [LLAMACPP-1]
  it('is asked in tokens, with the key and the temperature alone, and answers with tokens and logprobs', async () => {
    const one = await server(honest)
    const engine = await engineOf([one.url], { apiKey: 'sesame' })
    await engine.load(0, checkpoint)
    const sampled = await engine.sample(request())
    expect([...sampled.tokens]).toEqual([5, 5, 5, 5])
    expect(sampled.logprobs[0]).toBeCloseTo(logprobs(0.8)[0], 6)
    expect(sampled.finish).toBe('length')
    const asked = one.calls.at(-1)
    const [atOne, atZero] = [
      await engine.sample(request({ temperature: 1 })),
      await engine.sample(request({ temperature: 0 })),
    ]
    for (const { logprobs: reported } of [atOne, atZero]) expect(reported[0]).toBeCloseTo(logprobs(1)[0], 6)
    expect(asked?.headers.authorization).toBe('Bearer sesame')
    expect(asked?.body).toMatchObject({
      prompt: [1, 2, 3],
      temperature: 0.8,
      samplers: ['temperature'],
      seed: 11,
    })
  })

  it('stops at the first stop token, and has no more tokens than the context leaves room for', async () => {
    const engine = await engineOf([(await server(honest)).url])
    await engine.load(0, checkpoint)
    expect(await engine.sample(request({ stopTokens: [5] }))).toMatchObject({ finish: 'stop' })
    const context = new Int32Array(62)
    expect((await engine.sample(request({ context }))).tokens.length).toBe(2)
    await expect(engine.sample(request({ context: new Int32Array(64) }))).rejects.toMatchObject({
      kind: 'context_too_long',
    })
  })
})

describe('the canary', () => {
  // [CANARY-1]
  it('refuses a server that tells logprobs before temperature', async () => {
    const raw: Behaviour = (call, response) => {
      if (call.path === '/health') return {}
      return honest({ ...call, body: { ...call.body, temperature: 1 } }, response)
    }
    const engine = await engineOf([(await server(raw)).url])
    await expect(engine.load(0, checkpoint)).rejects.toMatchObject({
      kind: 'another_model',
      permanent: true,
      message: expect.stringContaining('before temperature'),
    })
    expect(engine.versions).toEqual([])
  })

  // [CANARY-1]
  it('refuses a server whose logprobs are of no known kind', async () => {
    const odd: Behaviour = (call, response) => {
      if (call.path === '/health') return {}
      const { temperature } = call.body
      return honest({ ...call, body: { ...call.body, temperature: temperature ** 3 } }, response)
    }
    const engine = await engineOf([(await server(odd)).url])
    await expect(engine.load(0, checkpoint)).rejects.toThrow('of no known kind')
  })

  // [CANARY-2]
  it('refuses a server of other weights than the checkpoint has', async () => {
    const engine = await openServedEngine(llamaCppProtocol, {
      ...{ run: 'demo', urls: [(await server(honest)).url], apiKey: undefined, contextLength: 64 },
      ...{ answerMs: 30_000, log: () => undefined },
    })
    onTestFinished(() => engine.close())
    await expect(engine.load(0, checkpoint)).rejects.toMatchObject({
      kind: 'another_model',
      message: expect.stringContaining('does not sample from the weights of this version'),
    })
  })
})

// [ANSWER-1] [ANSWER-2] [SERVED-5]
describe('a server that lies is named, and nothing of its answer is used', () => {
  const good = { id: 5, prob: 0.5, top_probs: [] }
  it.each<[string, unknown, string]>([
    ['no token', { tokens: [] }, 'no token'],
    ['fewer logprobs than tokens', { tokens: [5, 5, 5, 5], completion_probabilities: [good] }, 'no logprob'],
    [
      'more tokens than asked',
      { tokens: [5, 5, 5, 5, 5], completion_probabilities: [] },
      'where 4 were asked',
    ],
    [
      'a token beyond the vocabulary',
      { tokens: [vocabulary], completion_probabilities: [good] },
      'vocabulary',
    ],
    ['half a token', { tokens: [1.5], completion_probabilities: [good] }, 'form'],
    [
      'a logprob that is no number',
      { tokens: [5], completion_probabilities: [{ id: 5, prob: null }] },
      'form',
    ],
    ['an impossible token', { tokens: [5], completion_probabilities: [{ id: 5, prob: 0 }] }, '-Infinity'],
    ['a probability of two', { tokens: [5], completion_probabilities: [{ id: 5, prob: 2 }] }, 'logprob 0.69'],
    ['an end that is none', { tokens: [5], completion_probabilities: [good] }, 'ends no action'],
    [
      'a context that it lengthened',
      { tokens: [5], completion_probabilities: [good], tokens_evaluated: 4 },
      'read 4 tokens of a context of 3',
    ],
    ['another form', { choices: [] }, 'form'],
    ['nothing', null, 'form'],
  ])('%s', async (_, answer, words) => {
    const engine = await engineOf([(await server(afterCanary(() => answer))).url])
    await engine.load(0, checkpoint)
    await expect(engine.sample(request())).rejects.toMatchObject({
      name: 'EngineFault',
      kind: 'wrong_answer',
      message: expect.stringContaining(words),
    })
    expect(await engine.statistics()).toMatchObject({ sampledTokens: 0 })
  })

  it('words that are no JSON', async () => {
    const engine = await engineOf([
      (await server(afterCanary((_, response) => response.end('{"tokens":[NaN]}')))).url,
    ])
    await engine.load(0, checkpoint)
    await expect(engine.sample(request())).rejects.toThrow('what is no JSON: {"tokens":[NaN]}')
  })

  // [CALL-3]
  it('a flood, which is cut off', async () => {
    const flood: Behaviour = (_, response) => {
      const chunk = Buffer.alloc(2 ** 16, 32)
      const more = () => {
        while (response.write(chunk));
      }
      response.on('drain', more)
      response.on('error', () => undefined)
      more()
      return silence
    }
    const engine = await engineOf([(await server(afterCanary(flood))).url])
    await engine.load(0, checkpoint)
    await expect(engine.sample(request())).rejects.toThrow('more than')
  })

  it('a refusal, which no try changes', async () => {
    const refusing = afterCanary((_, response) => response.writeHead(400).end('{"error":"prompt is empty"}'))
    const engine = await engineOf([(await server(refusing)).url])
    await engine.load(0, checkpoint)
    await expect(engine.sample(request())).rejects.toMatchObject({
      kind: 'refused',
      permanent: true,
      message: expect.stringContaining('prompt is empty'),
    })
  })
})

describe('a server that is not there', () => {
  // [SERVED-2]
  it('is waited for while it loads, and asked for its canary then', async () => {
    let asked = 0
    const loading: Behaviour = (call, response) => {
      if (call.path !== '/health' || ++asked > 2) return honest(call, response)
      return response.writeHead(503).end('{"error":{"message":"Loading model"}}')
    }
    const one = await server(loading)
    const engine = await engineOf([one.url])
    await engine.load(0, checkpoint)
    expect(one.calls.slice(0, 4).map(({ path }) => path)).toEqual([
      '/health',
      '/health',
      '/health',
      '/completion',
    ])
  })

  it('is named when it does not come', async () => {
    const engine = await engineOf(['http://127.0.0.1:1'], { patienceMs: 0 })
    await expect(engine.load(0, checkpoint)).rejects.toMatchObject({
      kind: 'unreachable',
      permanent: false,
      message: expect.stringContaining('http://127.0.0.1:1 cannot be reached'),
    })
  })

  // [SERVED-2] [SERVED-3]
  it('is replaced by another, at which the key stays', async () => {
    const [one, two] = [await server(honest), await server(honest)]
    const engine = await engineOf([one.url, two.url], { patienceMs: 0 })
    await engine.load(0, checkpoint)
    await expect.poll(() => two.calls.length).toBeGreaterThan(2)
    await engine.sample(request())
    const [used, other] = one.calls.at(-1)?.body.prompt.length === 3 ? [one, two] : [two, one]
    await used.close()
    await engine.sample(request())
    await engine.sample(request())
    expect(other.calls.slice(-2).map(({ body }) => body.prompt)).toEqual([
      [1, 2, 3],
      [1, 2, 3],
    ])
  })

  // [SERVED-1]
  it('is asked for its canary again when it comes back', async () => {
    const one = await server(honest)
    const engine = await engineOf([one.url])
    await engine.load(0, checkpoint)
    await one.close()
    const waiting = engine.sample(request())
    const port = Number(new URL(one.url).port)
    const back = await server(honest, port)
    expect((await waiting).tokens.length).toBe(4)
    expect(back.calls.map(({ body }) => body?.prompt.length)).toEqual([undefined, 12, 12, 12, 3])
  })
})

describe('a server that hangs', () => {
  const hanging = afterCanary(() => silence)

  // [CALL-1]
  it('is given up after the time that an action may take', async () => {
    const engine = await engineOf([(await server(hanging)).url], { answerMs: 300 })
    await engine.load(0, checkpoint)
    await expect(engine.sample(request())).rejects.toMatchObject({
      kind: 'unreachable',
      message: expect.stringContaining('has not answered within 0.3 s'),
    })
  })

  // [SERVED-4] [CALL-2]
  it('hears of a cancelled request by its closed connection', async () => {
    const one = await server(hanging)
    const engine = await engineOf([one.url])
    await engine.load(0, checkpoint)
    const controller = new AbortController()
    const cancelled = engine.sample(request(), controller.signal)
    cancelled.catch(() => undefined)
    await expect.poll(() => one.calls.at(-1)?.body.prompt.length).toBe(3)
    controller.abort(new Error('no longer wanted'))
    await expect(cancelled).rejects.toThrow('no longer wanted')
    await expect.poll(() => one.abandoned.length).toBe(1)
  })

  it('keeps no one from closing the engine', async () => {
    const one = await server(() => silence)
    const engine = await engineOf([one.url])
    const loading = engine.load(0, checkpoint)
    loading.catch(() => undefined)
    await expect.poll(() => one.calls.length).toBe(1)
    await engine.close()
    await expect(loading).rejects.toMatchObject({ kind: 'closed' })
  })
})

const ask: Ask = {
  ...{ id: 'turn', context: Int32Array.of(1, 2, 3), maxNewTokens: 8, temperature: 1, stopTokens: [7] },
  ...{ seed: 11, alternatives: 0 },
}

/** The answer to what is asked: each token is the length of the context before it, and −1 less likely. */
function answered(of: Ask, tokens: number, change: Partial<Answer> = {}): Answer {
  const places = Array.from({ length: tokens }, (_, at) => of.context.length + at)
  const logprobs = places.map((place) => -place / 10)
  return {
    tokens: places,
    logprobs,
    promptTokens: of.context.length,
    cachedTokens: 0,
    alternatives: [],
    ...change,
  }
}

/** Parts of an action: how many tokens each has, and by how much its version is newer than the one before. */
const parts = fc.array(fc.record({ tokens: fc.nat(9), newer: fc.nat(2) }), { maxLength: 6 })

// [SPANS-1]
it('an action that is cut anywhere has the tokens of one that is not, and each token the version of its part', () => {
  fc.assert(
    fc.property(parts, fc.constantFrom(7, 50), (cuts, stop) => {
      const asked = { ...ask, stopTokens: [stop] }
      const spans = new SampledSpans(asked)
      const expected: number[] = []
      const limit = stop === 7 ? 5 : 8 // tokens 3 to 7, or 3 to 10
      let version = 0
      for (const { tokens, newer } of [...cuts, { tokens: 9, newer: 1 }]) {
        if (spans.whole() !== undefined) break
        version += newer
        const rest = spans.rest()
        expect(rest.context.length + rest.maxNewTokens).toBe(11)
        const given = Math.min(tokens, rest.maxNewTokens)
        const answer = answered(rest, given, { isCut: given < rest.maxNewTokens })
        spans.add(checkedPart(answer, { ask: rest, vocabulary: 64, name: 'it' }), version)
        for (let token = 0; token < given && expected.length < limit; token++) expected.push(version)
      }
      const whole = spans.whole()
      expect([...(whole?.tokens ?? [])]).toEqual(Array.from({ length: limit }, (_, at) => 3 + at))
      expect([...(whole?.logprobs ?? [])]).toEqual([
        ...Float32Array.from(whole?.tokens ?? [], (token) => -token / 10),
      ])
      expect(whole?.finish).toBe(stop === 7 ? 'stop' : 'length')
      if (whole === undefined) return
      expect([...tokenVersions(whole)]).toEqual(expected)
      if (whole.spans !== undefined) expect(areSpansOf(whole, whole.spans)).toBe(true)
      expect(whole.spans === undefined).toBe(new Set(expected).size === 1)
    }),
  )
})

// [SPANS-2]
it('the rest of an action is drawn with another seed at every place, the same each time', () => {
  const drawn = () =>
    Array.from({ length: 8 }, (_, tokens) => {
      const spans = new SampledSpans(ask)
      const part = { tokens: new Int32Array(tokens).fill(5), logprobs: new Float32Array(tokens) }
      spans.add({ ...part, end: 'cut' }, 0)
      return spans.rest().seed
    })
  const seeds = drawn()
  expect(seeds[0]).toBe(ask.seed)
  expect(new Set(seeds).size).toBe(8)
  expect(drawn()).toEqual(seeds)
})

// [ANSWER-3]
it('of an answer only the tokens count that the asked weights sampled, up to the first of others', () => {
  const own = { ...ask, weights: 'demo@1-aa', stopTokens: [] }
  const spans = fc.array(
    fc.record({ name: fc.constantFrom('demo@1-aa', 'demo@2-bb', 'demo@2-bb?'), tokens: fc.nat(4) }),
  )
  fc.assert(
    fc.property(spans, fc.boolean(), (weights, isCut) => {
      const total = weights.reduce((sum, { tokens }) => sum + tokens, 0)
      fc.pre(total <= 8 && (isCut || total === 8))
      const names = weights.flatMap(({ name, tokens }) => Array.from({ length: tokens }, () => name))
      const other = names.findIndex((name) => name !== own.weights)
      const kept = other < 0 ? total : other
      const part = checkedPart(answered(own, total, { isCut, weights }), {
        ask: own,
        vocabulary: 64,
        name: 'it',
      })
      expect(part.tokens.length).toBe(kept)
      expect(part.end).toBe(kept === 8 ? 'length' : 'cut')
    }),
  )
})

it('an answer that does not say of each token which weights sampled it is refused', () => {
  const own = { ...ask, weights: 'demo@1-aa' }
  for (const weights of [undefined, [], [{ name: 'demo@1-aa', tokens: 7 }]])
    expect(() =>
      checkedPart(answered(own, 8, { weights }), { ask: own, vocabulary: 64, name: 'it' }),
    ).toThrow('did not say which weights')
})
