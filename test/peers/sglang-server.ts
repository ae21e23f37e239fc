/**
 * SGLang's real server for tests, with adapters or with weights that are replaced, on the processor and in F32; its seeds count.
 *
 * Invariants
 * - Where there is none the reason is reported; `npm test -- --vllm` installs it, and then its absence is a failure.
 */
import { type ServerProcess, startServer } from '../host/server-process.ts'

/** Adapters of this rank at most are loaded. */
const maxRank = 8

/** Where SGLang is; undefined where tests with it are skipped, which is said. */
export function pythonWithSglang(): string | undefined {
  const python = process.env.PERDURE_SGLANG_PYTHON
  if (python !== undefined) return python
  if (process.env.PERDURE_REQUIRE_SGLANG === '1')
    throw new Error('tests with SGLang must run here, but PERDURE_SGLANG_PYTHON does not say where it is')
  console.warn(
    "tests with SGLang's server are skipped: `npm test -- --vllm` installs it (0.3 GB, over vLLM's 3.4 GB) and runs them",
  )
  return undefined
}

/** Settings with which a server starts. */
export interface SglangSettings {
  readonly python: string
  /** The folder of the base. */
  readonly model: string
  readonly contextLength: number
  /** Adapters that may be in one batch; 0: its weights are replaced instead. */
  readonly adapters: number
  /** A port that is free. */
  readonly port: number
}

/** Starts one and waits until it answers. @throws Error with what it wrote */
export async function startSglangServer(settings: SglangSettings): Promise<ServerProcess> {
  return await startServer({
    ...{ name: 'SGLang', python: settings.python, port: settings.port },
    ...{ module: 'sglang.launch_server', flags: flagsOf(settings) },
    env: {
      SGLANG_USE_CPU_ENGINE: '1',
      // It would compile its sampler, for which a machine needs a compiler.
      TORCHDYNAMO_DISABLE: '1',
      OMP_NUM_THREADS: '1',
      HF_HUB_OFFLINE: '1',
    },
  })
}

function flagsOf({ model, contextLength, adapters, port }: SglangSettings): string[] {
  return [
    ...['--model-path', model, '--served-model-name', 'base', '--host', '127.0.0.1', '--port', String(port)],
    ...['--dtype', 'float32', '--context-length', String(contextLength)],
    ...['--device', 'cpu', '--attention-backend', 'torch_native', '--sampling-backend', 'pytorch'],
    ...['--max-total-tokens', '32768', '--max-running-requests', '32', '--log-level', 'warning'],
    ...['--enable-deterministic-inference', '--enable-metrics'],
    ...(adapters > 0 ? adapterFlags(adapters) : []),
  ]
}

function adapterFlags(adapters: number): string[] {
  return [
    ...['--enable-lora', '--lora-backend', 'torch_native', '--lora-target-modules', 'all'],
    // One place is the base's, which its own health checks sample from.
    ...['--max-lora-rank', String(maxRank), '--max-loras-per-batch', String(adapters + 1)],
  ]
}
