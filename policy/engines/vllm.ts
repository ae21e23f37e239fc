/**
 * vLLM's server: `POST /v1/completions` with token ids (by its 0.32).
 *
 * Start it with `--logprobs-mode processed_logprobs`: by default it tells logprobs before temperature.
 *
 * Invariants
 * - [VLLM-1] Every sampler but the temperature is switched off by name, because the server takes what a request leaves
 *   out from the model's `generation_config.json`; and only the policy's own ends end an action.
 */
import { z } from 'zod'
import type { EngineDefinition } from './engine.ts'
import { openServedEngine } from './served.ts'
import type { ServerProtocol } from './server-protocol.ts'

const answerSchema = z.object({
  choices: z
    .array(
      z.object({
        token_ids: z.array(z.int()),
        prompt_token_ids: z.array(z.int()).nullish(),
        logprobs: z.object({
          tokens: z.array(z.string()),
          token_logprobs: z.array(z.number()),
          top_logprobs: z.array(z.record(z.string().regex(/^token_id:\d+$/), z.number())).nullish(),
        }),
      }),
    )
    .length(1),
  usage: z.object({
    prompt_tokens: z.int(),
    prompt_tokens_details: z.object({ cached_tokens: z.int().nullish() }).nullish(),
  }),
})

export const vllmProtocol: ServerProtocol = {
  name: 'vllm',
  capabilities: { versions: 'first', adapters: true, scoring: false, exact: false },
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

  request: ({ context, maxNewTokens, temperature, seed, stopTokens, alternatives, id, adapter }) => ({
    path: '/v1/completions',
    body: {
      ...(adapter === undefined ? {} : { model: adapter }),
      request_id: id,
      prompt: [...context],
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
      logprobs: Math.max(1, alternatives),
      return_token_ids: true,
      return_tokens_as_token_ids: true,
    },
  }),

  read(answer) {
    const { choices, usage } = answerSchema.parse(answer)
    const [{ token_ids: tokens, prompt_token_ids: prompt, logprobs }] = choices as [(typeof choices)[number]]
    return {
      tokens,
      // One of another token is none of this one's.
      logprobs: logprobs.token_logprobs.map((logprob, at) =>
        logprobs.tokens[at] === `token_id:${tokens[at]}` || at >= tokens.length ? logprob : Number.NaN,
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
    }
  },
}

/** `policy.engine: vllm`. */
export const vllmEngine: EngineDefinition = {
  name: vllmProtocol.name,
  capabilities: vllmProtocol.capabilities,
  open: (options) => openServedEngine(vllmProtocol, options),
}
