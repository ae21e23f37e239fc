/**
 * vLLM's server: `POST /v1/completions` with token ids, and where its weights are replaced `POST /inference/v1/generate`, which alone
 * tells which weights sampled each token (by its 0.32).
 *
 * Start it with `--logprobs-mode processed_logprobs`: by default it tells logprobs before temperature.
 *
 * Invariants
 * - [VLLM-1] Every sampler but the temperature is switched off by name, because the server takes what a request leaves
 *   out from the model's `generation_config.json`; and only the policy's own ends end an action.
 * - [VLLM-2] Keys and values of some weights are never used with others: requests of different weights share no cache.
 */
import { z } from 'zod'
import type { EngineDefinition } from '../engines/engine.ts'
import { openServedEngine } from '../served/served.ts'
import type { Answer, Ask, InPlaceProtocol, ServerProtocol } from '../served/server-protocol.ts'
import { biasOf, namedTokens, ownLogprobs, weightsNamedIn, weightVersions } from './vllm-family.ts'

/** An answer of one choice; both calls tell the tokens, the end and the usage alike. */
function answerWith<Reported extends z.core.$ZodLooseShape>(reported: Reported) {
  const choice = z.object({ token_ids: z.array(z.int()), finish_reason: z.string().nullish(), ...reported })
  return z.object({
    choices: z.tuple([choice]),
    usage: z.object({
      prompt_tokens: z.int(),
      prompt_tokens_details: z.object({ cached_tokens: z.int().nullish() }).nullish(),
    }),
  })
}

const answerSchema = answerWith({
  prompt_token_ids: z.array(z.int()).nullish(),
  logprobs: z.object({
    tokens: z.array(z.string()),
    token_logprobs: z.array(z.number()),
    top_logprobs: z.array(z.record(z.string().regex(/^token_id:\d+$/), z.number())).nullish(),
  }),
})

const reported = z.object({ token_id: z.int(), logprob: z.number() })
const generatedSchema = answerWith({
  logprobs: z.object({ content: z.array(reported.extend({ top_logprobs: z.array(reported).default([]) })) }),
  weight_versions: weightVersions,
})

/** The lowest that it takes: at temperature 1 it multiplies the probability of a token by e^−100. */
const leftOut = -100

/** Every sampler but the temperature is switched off. */
function samplingOf({ maxNewTokens, temperature, seed, stopTokens, excluded = [] }: Ask) {
  return {
    max_tokens: maxNewTokens,
    temperature,
    top_p: 1,
    top_k: 0,
    min_p: 0,
    repetition_penalty: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    // Below 2^31, as some of its kernels want it.
    seed: seed >>> 1,
    stop_token_ids: [...stopTokens],
    ignore_eos: true,
    skip_special_tokens: false,
    ...(excluded.length === 0 ? {} : { logit_bias: biasOf(excluded, leftOut) }),
  }
}

const inPlace: InPlaceProtocol = {
  statePath: '/weight_info',
  nameIn: weightsNamedIn,
  pause: { path: '/pause?mode=abort', body: {} },
  resume: { path: '/resume', body: {} },
  rename: (name) => ({ path: '/update_weight_version', body: { new_version: name } }),
  reload: (dir) => ({
    path: '/collective_rpc',
    body: { method: 'reload_weights', kwargs: { weights_path: dir } },
  }),
  advice:
    'start it with VLLM_SERVER_DEV_MODE=1 and --enable-scale-out, with a model of the architecture of policy.from, on a machine that has the folder',
}

/** A request to a server whose weights are replaced. */
function generate(ask: Ask, weights: string) {
  const { context, alternatives, id } = ask
  return {
    path: '/inference/v1/generate',
    body: {
      request_id: id,
      token_ids: [...context],
      sampling_params: { ...samplingOf(ask), detokenize: false, logprobs: Math.max(1, alternatives) },
      // It takes no `@` in it.
      cache_salt: weights.replaceAll('@', ':'),
    },
  }
}

function readGenerated(answer: unknown): Answer {
  const { choices, usage } = generatedSchema.parse(answer)
  const [{ token_ids: tokens, finish_reason, logprobs, weight_versions }] = choices
  return {
    tokens,
    logprobs: ownLogprobs(
      tokens,
      logprobs.content.map(({ token_id, logprob }) => ({ token: token_id, logprob })),
    ),
    promptTokens: usage.prompt_tokens,
    cachedTokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
    alternatives: logprobs.content.map(({ top_logprobs }) =>
      top_logprobs.map(({ token_id, logprob }) => ({ token: token_id, logprob })),
    ),
    isCut: finish_reason === 'abort',
    weights: namedTokens(weight_versions),
  }
}

export const vllmProtocol: ServerProtocol = {
  name: 'vllm',
  capabilities: { versions: 'latest', adapters: true, served: true, scoring: false, exact: false },
  readyPath: '/health',
  ownPath: '/version',
  temperatureAdvice: 'start it with --logprobs-mode processed_logprobs',

  adapters: {
    load: ({ name, dir }) => ({
      path: '/v1/load_lora_adapter',
      body: { lora_name: name, lora_path: dir },
    }),
    unload: (name) => ({ path: '/v1/unload_lora_adapter', body: { lora_name: name } }),
    isThere: (message) => /already been loaded/i.test(message),
    isGone: (message) => /status 404/.test(message),
    isUnfit: (message) => /lora rank|max_lora_rank|not support/i.test(message),
    advice:
      'start it with --enable-lora, --max-lora-rank of policy.lora.rank at least (8, 16, 32, 64 …), and VLLM_ALLOW_RUNTIME_LORA_UPDATING=1, on a machine that has the folder',
  },

  inPlace,

  request(ask) {
    const { context, alternatives, id, adapter, weights } = ask
    if (weights !== undefined) return generate(ask, weights)
    return {
      path: '/v1/completions',
      body: {
        ...(adapter === undefined ? {} : { model: adapter }),
        request_id: id,
        prompt: [...context],
        ...samplingOf(ask),
        logprobs: Math.max(1, alternatives),
        return_token_ids: true,
        return_tokens_as_token_ids: true,
      },
    }
  },

  read(answer, { weights }) {
    if (weights !== undefined) return readGenerated(answer)
    const { choices, usage } = answerSchema.parse(answer)
    const [{ token_ids: tokens, prompt_token_ids: prompt, finish_reason, logprobs }] = choices
    return {
      tokens,
      logprobs: ownLogprobs(
        tokens.map((token) => `token_id:${token}`),
        logprobs.token_logprobs.map((logprob, at) => ({ token: logprobs.tokens[at], logprob })),
      ),
      promptTokens: usage.prompt_tokens,
      prompt: prompt ?? undefined,
      cachedTokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
      alternatives: (logprobs.top_logprobs ?? []).map((place) =>
        Object.entries(place).map(([token, logprob]) => ({
          token: Number(token.slice('token_id:'.length)),
          logprob,
        })),
      ),
      isCut: finish_reason === 'abort',
    }
  },
}

/** `policy.engine: vllm`. */
export const vllmEngine: EngineDefinition = {
  name: vllmProtocol.name,
  capabilities: vllmProtocol.capabilities,
  open: (options) => openServedEngine(vllmProtocol, options),
}
