/** Servers in the form of vLLM and SGLang that lie, break off, are late, drip or flood: each is named, and none is waited for without end. */
import type { ServerResponse } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { sglangProtocol } from '../dialects/sglang.ts'
import { vllmProtocol } from '../dialects/vllm.ts'
import { EngineFault, type SamplingRequest } from '../engines/engine.ts'
import { type Behaviour, type HeardCall, silence, startHostileServer } from './hostile-server.testing.ts'
import { openServedEngine, type ServedEngine } from './served.ts'
import type { ServerProtocol } from './server-protocol.ts'

const vocabulary = 23
/** For a server that is given up. A machine may be so busy that an honest answer takes longer than that. */
const soonMs = 500

const tooLate = 'has not answered within 0.5 s'

/** The report of a server, in no form yet. */
interface Reported {
  readonly tokens: readonly number[]
  readonly logprobs: readonly (number | null)[]
  /** Whose logprobs they are. */
  readonly of: readonly number[]
  readonly promptTokens: number
}

/** How one kind of server is asked, and answers. */
interface Dialect {
  readonly protocol: ServerProtocol
  readonly asked: (body: HeardCall['body']) => {
    readonly prompt: readonly number[]
    readonly count: number
    readonly temperature: number
  }
  readonly answer: (reported: Reported, second: number) => unknown
}

const dialects: readonly Dialect[] = [
  {
    protocol: vllmProtocol,
    asked: ({ prompt, max_tokens: count, temperature }) => ({ prompt, count, temperature }),
    answer: ({ tokens, logprobs, of, promptTokens }, second) => ({
      choices: [
        {
          token_ids: tokens,
          logprobs: {
            tokens: of.map((token) => `token_id:${token}`),
            token_logprobs: logprobs,
            top_logprobs: logprobs.map((first) => ({ 'token_id:5': first, 'token_id:6': second })),
          },
        },
      ],
      usage: { prompt_tokens: promptTokens },
    }),
  },
  {
    protocol: sglangProtocol,
    asked: ({ input_ids: prompt, sampling_params: { max_new_tokens: count, temperature } }) => ({
      ...{ prompt, count, temperature },
    }),
    answer: ({ tokens, logprobs, of, promptTokens }, second) => ({
      output_ids: tokens,
      meta_info: {
        prompt_tokens: promptTokens,
        output_token_logprobs: logprobs.map((logprob, at) => [logprob, of[at], null]),
        output_top_logprobs: logprobs.map((first) => [
          [first, 5, null],
          [second, 6, null],
        ]),
      },
    }),
  },
]

/** A policy that always says token 5; token 6 is e times less likely. */
function truth(
  { asked, answer }: Dialect,
  { body }: HeardCall,
  lie = (reported: Reported): Reported => reported,
): unknown {
  const { prompt, count, temperature } = asked(body)
  const first = -Math.log1p(Math.exp(-1 / (temperature || 1)))
  const tokens = Array.from({ length: count }, () => 5)
  const reported = { tokens, logprobs: tokens.map(() => first), of: tokens, promptTokens: prompt.length }
  return answer(lie(reported), first - 1 / (temperature || 1))
}

/** Answers the canary, whose context has 12 tokens, truthfully; then as the behaviour says. */
async function engineOf(dialect: Dialect, behaviour: Behaviour, answerMs = 30_000): Promise<ServedEngine> {
  const server = await startHostileServer((call, response) => {
    if (call.body === undefined) return {}
    const isCanary = dialect.asked(call.body).prompt.length === 12
    return isCanary ? truth(dialect, call) : behaviour(call, response)
  })
  onTestFinished(() => server.close())
  const engine = await openServedEngine(dialect.protocol, {
    ...{ run: 'demo', urls: [server.url], apiKey: undefined, contextLength: 64, answerMs, patienceMs: 0 },
    log: () => undefined,
    modelOf: async () => ({ vocabulary, score: undefined }),
  })
  onTestFinished(() => engine.close())
  // A busy machine may be too late for the canary too.
  for (;;)
    try {
      await engine.load(0, '')
      return engine
    } catch (fault) {
      if (!(fault instanceof EngineFault) || fault.kind !== 'unreachable') throw fault
    }
}

const request: SamplingRequest = {
  ...{ cacheKey: 'episode', borders: [], context: Int32Array.of(1, 2, 3), version: 0 },
  ...{ maxNewTokens: 4, temperature: 0.8, stopTokens: [7], seed: 11 },
}

/** The lie, how it changes the report, and the words of the fault. */
const lies: readonly (readonly [string, (reported: Reported) => Partial<Reported>, string])[] = [
  [
    'fewer logprobs than tokens',
    ({ logprobs }) => ({ logprobs: logprobs.slice(1) }),
    '4 tokens and 3 logprobs',
  ],
  [
    'more logprobs than tokens',
    ({ logprobs, of }) => ({ logprobs: [...logprobs, -1], of: [...of, 5] }),
    '4 tokens and 5 logprobs',
  ],
  ['no token', () => ({ tokens: [], logprobs: [], of: [] }), 'no token'],
  ['more tokens than asked', ({ tokens }) => ({ tokens: [...tokens, 5] }), '5 tokens where 4 were asked'],
  ['a token beyond the vocabulary', () => ({ tokens: [vocabulary, 5, 5, 5] }), `token ${vocabulary}, and`],
  ['a token below 0', () => ({ tokens: [-1, 5, 5, 5] }), 'token -1, and'],
  ['half a token', () => ({ tokens: [1.5, 5, 5, 5] }), 'form'],
  ['other tokens than the logprobs are of', () => ({ of: [5, 5, 6, 5] }), 'the logprob NaN'],
  ['no number for a logprob', ({ logprobs }) => ({ logprobs: [null, ...logprobs.slice(1)] }), 'form'],
  [
    'an impossible token',
    ({ logprobs }) => ({ logprobs: [-9999, ...logprobs.slice(1)] }),
    'the logprob -9999',
  ],
  ['a probability above 1', ({ logprobs }) => ({ logprobs: [0.7, ...logprobs.slice(1)] }), 'the logprob 0.7'],
  ['a context that it lengthened', () => ({ promptTokens: 4 }), 'read 4 tokens of a context of 3'],
  [
    'an end that ends no action',
    ({ tokens, logprobs, of }) => ({
      tokens: tokens.slice(1),
      logprobs: logprobs.slice(1),
      of: of.slice(1),
    }),
    'ends no action',
  ],
]

function write(response: ServerResponse, text: string): typeof silence {
  response.on('error', () => undefined)
  response.write(text)
  return silence
}

/** The misdeed in place of an answer, the kind of its fault, and the words of the fault. */
const misdeeds: readonly (readonly [string, Behaviour, string, string])[] = [
  ['answers nothing', () => silence, 'unreachable', tooLate],
  [
    'begins an answer and never ends it',
    (_, response) => write(response, '{"choices":['),
    'unreachable',
    tooLate,
  ],
  [
    'drips',
    (_, response) => {
      const drops = setInterval(() => response.write(' '), 20)
      response.once('close', () => clearInterval(drops))
      return write(response, ' ')
    },
    'unreachable',
    tooLate,
  ],
  [
    'floods',
    (_, response) => {
      const more = () => {
        while (response.write(Buffer.alloc(2 ** 16, 32)));
      }
      response.on('drain', more).on('error', () => undefined)
      more()
      return silence
    },
    'wrong_answer',
    'answered with more than',
  ],
  [
    'breaks off',
    (_, response) => {
      response.on('error', () => undefined)
      response.writeHead(200, { 'content-length': '1000' }).write('{"choices":[', () => response.destroy())
      return silence
    },
    'unreachable',
    'cannot be reached',
  ],
  [
    'says NaN',
    (_, response) => response.end('{"logprobs":[NaN]}'),
    'wrong_answer',
    'no JSON: {"logprobs":[NaN]}',
  ],
  ['shows a page', (_, response) => response.end('<html>Sign in</html>'), 'wrong_answer', 'no JSON: <html>'],
  ['says nothing', (_, response) => response.end(), 'wrong_answer', 'form'],
  ['says something else', () => ({ detail: 'Not Found' }), 'wrong_answer', 'form'],
  [
    'sends elsewhere',
    (_, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
    'refused',
    'status 302',
  ],
  ['refuses', (_, response) => response.writeHead(400).end('{"error":"no"}'), 'refused', 'status 400'],
  ['fails', (_, response) => response.writeHead(500).end('out of memory'), 'unreachable', 'out of memory'],
]

// [ANSWER-2] [SERVED-5]
describe.each(dialects)(
  'a server of $protocol.name is named, and nothing of its answer is used, if it',
  (dialect) => {
    it.each(lies)('tells %s', async (_, lie, words) => {
      const engine = await engineOf(dialect, (call) =>
        truth(dialect, call, (reported) => ({ ...reported, ...lie(reported) })),
      )
      await expect(engine.sample(request)).rejects.toMatchObject({
        ...{ name: 'EngineFault', kind: 'wrong_answer' },
        message: expect.stringContaining(words),
      })
      expect(await engine.statistics()).toMatchObject({ sampledTokens: 0, waiting: 0, running: 0 })
    })

    // [CALL-1] [CALL-3]
    it.each(misdeeds)('%s', async (_, misdeed, kind, words) => {
      const engine = await engineOf(dialect, misdeed, words === tooLate ? soonMs : undefined)
      await expect(engine.sample(request)).rejects.toMatchObject({
        ...{ name: 'EngineFault', kind },
        message: expect.stringContaining(words),
      })
      expect(await engine.statistics()).toMatchObject({ sampledTokens: 0, waiting: 0 })
    })
  },
)
