/**
 * llama.cpp's server: `POST /completion` with token ids (checked with b11549).
 *
 * It samples from the one model that it was started with. Its own samplers (top-k 40, top-p 0.95, min-p) would change
 * the distribution, so only the temperature is asked for. For the best agreement start it with an F32 file,
 * `--cache-type-k f32 --cache-type-v f32 --flash-attn off`.
 *
 * Invariants
 * - [LLAMACPP-1] Logprobs are those at the asked temperature: at 0 and 1 the server's `logprob`, which it takes before
 *   temperature, else the logarithm of the probability after it (`post_sampling_probs`). So it is at 1 where tokens are left out:
 *   the server's `logprob` is taken before that too.
 */
import { z } from 'zod'
import type { EngineDefinition } from '../engines/engine.ts'
import { reportedLogprobs } from '../served/missing-logprobs.ts'
import { openServedEngine } from '../served/served.ts'
import type { Ask, ServerProtocol } from '../served/server-protocol.ts'

/** The server takes it for "any seed". */
const anySeed = 0xffffffff

const number = z.number()
const before = z.object({
  id: z.int(),
  logprob: number,
  top_logprobs: z.array(z.object({ id: z.int(), logprob: number })).default([]),
})
const after = z.object({
  id: z.int(),
  prob: number,
  top_probs: z.array(z.object({ id: z.int(), prob: number })).default([]),
})
const answerSchema = z.object({
  tokens: z.array(z.int()),
  completion_probabilities: z.array(z.union([before, after])).default([]),
  tokens_evaluated: z.int().min(0).optional(),
  timings: z.object({ cache_n: z.int().min(0).default(0) }).optional(),
})

function isAfterTemperature({ temperature, forced, excluded = [] }: Ask): boolean {
  return temperature !== 0 && (temperature !== 1 || (excluded.length > 0 && forced === undefined))
}

export const llamaCppProtocol: ServerProtocol = {
  name: 'llama.cpp',
  capabilities: { versions: 'first', served: true, scoring: false, exact: false },
  readyPath: '/health',
  ownPath: '/props',
  temperatureAdvice: 'use a release that knows `post_sampling_probs`',

  request(ask) {
    const { context, maxNewTokens, temperature, seed, alternatives, forced, excluded = [] } = ask
    const biases = [
      ...excluded.map((token) => [token, false] as const),
      // Logprobs before temperature are taken before it too.
      ...(forced === undefined ? [] : [[forced, 10_000] as const]),
    ]
    return {
      path: '/completion',
      body: {
        prompt: [...context],
        n_predict: maxNewTokens,
        temperature,
        samplers: ['temperature'],
        seed: seed === anySeed ? seed - 1 : seed,
        n_probs: Math.max(1, alternatives),
        post_sampling_probs: isAfterTemperature(ask),
        ...(biases.length === 0 ? {} : { logit_bias: biases }),
        return_tokens: true,
        cache_prompt: true,
        response_fields: ['tokens', 'completion_probabilities', 'tokens_evaluated', 'timings'],
      },
    }
  },

  read(answer) {
    const {
      tokens,
      completion_probabilities: reported,
      tokens_evaluated,
      timings,
    } = answerSchema.parse(answer)
    return {
      tokens,
      logprobs: reportedLogprobs(
        tokens,
        reported.map((each) => ({
          token: each.id,
          logprob: 'prob' in each ? Math.log(each.prob) : each.logprob,
        })),
      ),
      promptTokens: tokens_evaluated,
      cachedTokens: timings?.cache_n ?? 0,
      alternatives: reported.map((each) =>
        'prob' in each
          ? each.top_probs.map(({ id, prob }) => ({ token: id, logprob: Math.log(prob) }))
          : each.top_logprobs.map(({ id, logprob }) => ({ token: id, logprob })),
      ),
    }
  },
}

/** `policy.engine: llama.cpp`. */
export const llamaCppEngine: EngineDefinition = {
  name: llamaCppProtocol.name,
  capabilities: llamaCppProtocol.capabilities,
  open: (options) => openServedEngine(llamaCppProtocol, options),
}
