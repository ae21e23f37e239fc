/**
 * SGLang's server: `POST /generate` with token ids (by its 0.5.23).
 *
 * It tells logprobs after temperature, unless `SGLANG_RETURN_ORIGINAL_LOGPROB` is set for it.
 *
 * Invariants
 * - [SGLANG-1] Every sampler but the temperature is switched off by name, and only the policy's own ends end an action.
 */
import { z } from 'zod'
import type { EngineDefinition } from './engine.ts'
import { openServedEngine } from './served.ts'
import type { ServerProtocol } from './server-protocol.ts'

/** Logprob, token id, and its text where one was asked for. */
const told = z.tuple([z.number(), z.int()]).rest(z.unknown())

const answerSchema = z.object({
  output_ids: z.array(z.int()),
  meta_info: z.object({
    prompt_tokens: z.int(),
    cached_tokens: z.int().nullish(),
    output_token_logprobs: z.array(told),
    output_top_logprobs: z.array(z.array(told).nullable()).nullish(),
  }),
})

export const sglangProtocol: ServerProtocol = {
  name: 'sglang',
  capabilities: { versions: 'first', adapters: true, scoring: false, exact: false },
  readyPath: '/health',
  ownPath: '/get_model_info',
  // A closed connection ends what is computed only where the server notices it.
  abort: (id) => ({ path: '/abort_request', body: { rid: id } }),
  temperatureAdvice: 'start it without SGLANG_RETURN_ORIGINAL_LOGPROB',

  adapters: {
    load: ({ name, dir }) => ({ path: '/load_lora_adapter', body: { lora_name: name, lora_path: dir } }),
    unload: (name) => ({ path: '/unload_lora_adapter', body: { lora_name: name } }),
    isThere: (message) => /already (been )?loaded/i.test(message),
    isGone: (message) => /not (been )?loaded|not found/i.test(message),
    isUnfit: (message) => /lora rank|max_lora_rank|not support/i.test(message),
    advice:
      'start it with --enable-lora, --max-lora-rank of policy.lora.rank at least and --lora-target-modules, on a machine that has the folder',
  },

  request: ({ context, maxNewTokens, temperature, seed, stopTokens, alternatives, id, adapter }) => ({
    path: '/generate',
    body: {
      ...(adapter === undefined ? {} : { lora_path: adapter }),
      rid: id,
      input_ids: [...context],
      sampling_params: {
        max_new_tokens: maxNewTokens,
        temperature,
        top_p: 1,
        top_k: -1,
        min_p: 0,
        repetition_penalty: 1,
        presence_penalty: 0,
        frequency_penalty: 0,
        // Below 2^31, as its kernels want it; it counts where the server runs with deterministic inference.
        sampling_seed: seed >>> 1,
        stop_token_ids: [...stopTokens],
        ignore_eos: true,
        skip_special_tokens: false,
        no_stop_trim: true,
      },
      return_logprob: true,
      top_logprobs_num: alternatives,
    },
  }),

  read(answer) {
    const { output_ids: tokens, meta_info: info } = answerSchema.parse(answer)
    return {
      tokens,
      // One of another token is none of this one's.
      logprobs: info.output_token_logprobs.map(([logprob, token], at) =>
        token === tokens[at] || at >= tokens.length ? logprob : Number.NaN,
      ),
      promptTokens: info.prompt_tokens,
      cachedTokens: info.cached_tokens ?? 0,
      alternatives: (info.output_top_logprobs ?? []).map((place) =>
        (place ?? []).map(([logprob, token]) => ({ token, logprob })),
      ),
    }
  },
}

/** `policy.engine: sglang`. */
export const sglangEngine: EngineDefinition = {
  name: sglangProtocol.name,
  capabilities: sglangProtocol.capabilities,
  open: (options) => openServedEngine(sglangProtocol, options),
}
