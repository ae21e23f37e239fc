/**
 * vLLM's real server for tests, with adapters or with weights that are replaced, on the processor and in F32.
 *
 * Invariants
 * - Where there is none the reason is reported; `npm test -- --vllm` installs it, and then its absence is a failure.
 */
import { type ServerProcess, startServer } from '../host/server-process.ts'

/** Adapters of this rank at most are loaded; vLLM takes few values. */
const maxRank = 8

export type VllmServer = ServerProcess

/** Where vLLM is; undefined where tests with it are skipped, which is said. */
export function pythonWithVllm(): string | undefined {
  const python = process.env.PERDURE_VLLM_PYTHON
  if (python !== undefined) return python
  if (process.env.PERDURE_REQUIRE_VLLM === '1')
    throw new Error('tests with vLLM must run here, but PERDURE_VLLM_PYTHON does not say where it is')
  console.warn(
    "tests with vLLM's server are skipped: `npm test -- --vllm` installs it (3.4 GB) and runs them",
  )
  return undefined
}

/** Settings with which a server starts. */
export interface VllmSettings {
  readonly python: string
  /** The folder of the base. */
  readonly model: string
  readonly contextLength: number
  /** Adapters that may be in one batch; 0: its weights are replaced instead. */
  readonly adapters: number
  /** A port that is free. */
  readonly port: number
  readonly flags?: readonly string[]
}

/** Starts one and waits until it answers. @throws Error with what it wrote */
export async function startVllmServer(settings: VllmSettings): Promise<VllmServer> {
  return await startServer({
    ...{ name: 'vLLM', python: settings.python, port: settings.port },
    ...{ module: 'vllm.entrypoints.openai.api_server', flags: flagsOf(settings) },
    env: {
      ...(settings.adapters > 0 ? { VLLM_ALLOW_RUNTIME_LORA_UPDATING: '1' } : { VLLM_SERVER_DEV_MODE: '1' }),
      VLLM_CPU_KVCACHE_SPACE: '1',
      VLLM_CPU_OMP_THREADS_BIND: 'nobind',
      OMP_NUM_THREADS: '1',
      VLLM_NO_USAGE_STATS: '1',
      VLLM_LOGGING_LEVEL: 'WARNING',
      HF_HUB_OFFLINE: '1',
    },
  })
}

function flagsOf({ model, contextLength, adapters, port, flags = [] }: VllmSettings): string[] {
  return [
    ...['--model', model, '--served-model-name', 'base', '--host', '127.0.0.1', '--port', String(port)],
    ...['--dtype', 'float32', '--enforce-eager', '--max-model-len', String(contextLength)],
    ...['--logprobs-mode', 'processed_logprobs', '--enable-prompt-tokens-details', '--max-num-seqs', '32'],
    ...(adapters > 0
      ? ['--enable-lora', '--max-lora-rank', String(maxRank), '--max-loras', String(adapters)]
      : ['--enable-scale-out']),
    ...flags,
  ]
}
