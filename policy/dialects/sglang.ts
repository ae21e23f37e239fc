/**
 * SGLang's server: `POST /generate` with token ids (by its 0.5.23).
 *
 * It tells logprobs after temperature, unless `SGLANG_RETURN_ORIGINAL_LOGPROB` is set for it.
 *
 * Invariants
 * - [SGLANG-1] Every sampler but the temperature is switched off by name, and only the policy's own ends end an action.
 * - [SGLANG-2] No request's name is the beginning of another's: an abort ends every request whose name begins with the one that it names.
 * - [SGLANG-3] An adapter that ends the server is never loaded: one of `up_proj` without `gate_proj`, or of any of `q_proj`, `k_proj` and
 *   `v_proj` without both `q_proj` and `v_proj`. The server keeps these as one matrix; it loads some of those adapters, and dies of the
 *   first request for them.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { AdapterTarget } from '../../learning/loss/adapter-targets.ts'
import { parseAdapterConfig } from '../checkpoints/adapter-config.ts'
import { adapterFiles } from '../checkpoints/manifest.ts'
import { type EngineDefinition, EngineFault } from '../engines/engine.ts'
import { openServedEngine } from '../served/served.ts'
import type { InPlaceProtocol, ServerProtocol } from '../served/server-protocol.ts'
import { modelIn, type ServedModel } from '../served/weights/served-model.ts'
import { biasOf, namedTokens, ownLogprobs, weightsNamedIn, weightVersions } from './vllm-family.ts'

/** Logprob, token id, and its text where one was asked for. */
const reported = z.tuple([z.number(), z.int()]).rest(z.unknown())

const answerSchema = z.object({
  output_ids: z.array(z.int()),
  meta_info: z.object({
    // Absent in the answer to a request that was ended before it began.
    prompt_tokens: z.int().optional(),
    cached_tokens: z.int().nullish(),
    finish_reason: z.object({ type: z.string() }).nullish(),
    output_token_logprobs: z.array(reported),
    output_top_logprobs: z.array(z.array(reported).nullable()).nullish(),
    weight_versions: weightVersions,
  }),
})

/** No temperature brings it back, and half precision holds it. */
const leftOut = -10_000

const inPlace: InPlaceProtocol = {
  statePath: '/model_info',
  nameIn: weightsNamedIn,
  pause: { path: '/pause_generation', body: { mode: 'abort' } },
  resume: { path: '/continue_generation', body: {} },
  // Nothing runs while it is paused.
  rename: (name) => ({
    path: '/update_weight_version',
    body: { new_version: name, abort_all_requests: false },
  }),
  reload: (dir) => ({ path: '/update_weights_from_disk', body: { model_path: dir, flush_cache: true } }),
  advice:
    'start it with a model of the architecture of policy.from, on a machine that has the folder, and without an admin key',
}

export const sglangProtocol: ServerProtocol = {
  name: 'sglang',
  capabilities: { versions: 'latest', adapters: true, served: true, scoring: false, exact: false },
  readyPath: '/health',
  ownPath: '/get_model_info',
  // A closed connection ends what is computed only where the server notices it.
  abort: (id) => ({ path: '/abort_request', body: { rid: ridOf(id) } }),
  temperatureAdvice: 'start it without SGLANG_RETURN_ORIGINAL_LOGPROB',

  adapters: {
    load: ({ name, dir }) => ({ path: '/load_lora_adapter', body: { lora_name: name, lora_path: dir } }),
    unload: (name) => ({ path: '/unload_lora_adapter', body: { lora_name: name } }),
    isThere: (message) => /already (been )?loaded/i.test(message),
    isGone: (message) => /(not|never) (been )?loaded|not found/i.test(message),
    isUnfit: (message) => /lora rank|max_lora_rank|not support/i.test(message),
    advice:
      'start it with --enable-lora, --max-lora-rank of policy.lora.rank at least and --lora-target-modules, on a machine that has the folder',
  },

  inPlace,

  request: ({
    context,
    maxNewTokens,
    temperature,
    seed,
    stopTokens,
    alternatives,
    id,
    adapter,
    excluded = [],
  }) => ({
    path: '/generate',
    body: {
      ...(adapter === undefined ? {} : { lora_path: adapter }),
      rid: ridOf(id),
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
        ...(excluded.length === 0 ? {} : { logit_bias: biasOf(excluded, leftOut) }),
      },
      return_logprob: true,
      top_logprobs_num: alternatives,
    },
  }),

  read(answer) {
    const { output_ids: tokens, meta_info: info } = answerSchema.parse(answer)
    return {
      tokens,
      logprobs: ownLogprobs(
        tokens,
        info.output_token_logprobs.map(([logprob, token]) => ({ token, logprob })),
      ),
      promptTokens: info.prompt_tokens,
      cachedTokens: info.cached_tokens ?? 0,
      alternatives: (info.output_top_logprobs ?? []).map((place) =>
        (place ?? []).map(([logprob, token]) => ({ token, logprob })),
      ),
      isCut: info.finish_reason?.type === 'abort',
      weights: namedTokens(info.weight_versions),
    }
  },
}

/** `policy.engine: sglang`. */
export const sglangEngine: EngineDefinition = {
  name: sglangProtocol.name,
  capabilities: sglangProtocol.capabilities,
  open: (options) => openServedEngine(sglangProtocol, { ...options, modelOf: loadableModelIn }),
}

/** Ends with what no identity contains. */
function ridOf(id: string): string {
  return `${id};`
}

/** @throws EngineFault `unsupported`: an adapter that ends the server @throws CheckpointFault */
async function loadableModelIn(dir: string, version: string): Promise<ServedModel> {
  const model = await modelIn(dir, version)
  if (model.adapter === undefined) return model
  const file = join(dir, adapterFiles.config)
  const { targets } = parseAdapterConfig(await readFile(file, 'utf8'), file)
  const missing = missingBeside(targets)
  if (missing.length > 0)
    throw new EngineFault(
      'unsupported',
      `sglang cannot serve an adapter of ${targets.join(', ')}: it needs ${missing.join(', ')} too; set policy.lora.targets`,
    )
  return model
}

/** Targets that SGLang needs beside an adapter's matrices; for `k_proj` and `up_proj` it puts zeros. */
function missingBeside(targets: readonly AdapterTarget[]): readonly AdapterTarget[] {
  const has = (...some: readonly AdapterTarget[]) => some.some((target) => targets.includes(target))
  const needed: readonly AdapterTarget[] = [
    ...(has('q_proj', 'k_proj', 'v_proj') ? (['q_proj', 'v_proj'] as const) : []),
    ...(has('up_proj') ? (['gate_proj'] as const) : []),
  ]
  return needed.filter((target) => !targets.includes(target))
}
