/**
 * llama.cpp's real server for tests: the Python package `xllamacpp`, which holds it, on a port of its own.
 *
 * Invariants
 * - It ends with the process that started it, however that ends.
 * - Where it cannot be had the reason is reported, and with PERDURE_REQUIRE_LLAMA=1 that is a failure.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { cacheFolder } from '../../machine/files/folder.ts'

export interface LlamaServer {
  readonly url: string
  /** Stops the server's process where it is, or resumes it. */
  signal(name: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): void
  close(): Promise<void>
}

/** Where `.ci/run` installs the package; a Python that has it anyway needs nothing there. */
const packages = process.env.PERDURE_LLAMA_PACKAGES ?? join(cacheFolder(), 'xllamacpp')
const environment = {
  ...process.env,
  PYTHONPATH: [packages, process.env.PYTHONPATH].filter((path) => path !== undefined).join(':'),
}

/** Keys, values and sums in F32: the same arithmetic as the policy's, except for the order of sums. */
const program = `
import sys, xllamacpp as x
model, port, threads, context, slots = sys.argv[1], *map(int, sys.argv[2:6])
p = x.CommonParams()
p.model.path = model
p.port = port
p.hostnames = ["127.0.0.1"]
p.n_ctx = context * slots
p.n_parallel = slots
p.cpuparams.n_threads = threads
p.cpuparams_batch.n_threads = threads
p.cache_type_k = p.cache_type_v = x.ggml_type.GGML_TYPE_F32
p.flash_attn_type = x.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
p.warmup = False
p.verbosity = 0
server = x.Server(p)
print(server.listening_address, flush=True)
sys.stdin.read()
`

/** Why no server can be started here; undefined where one can. */
export function llamaServerMissing(): string | undefined {
  const { status } = spawnSync('python3', ['-c', 'import xllamacpp'], { env: environment, stdio: 'ignore' })
  if (status === 0) return undefined
  const reason = `Python has no xllamacpp (python3 -m pip install --target ${packages} xllamacpp)`
  if (process.env.PERDURE_REQUIRE_LLAMA === '1')
    throw new Error(`tests with llama.cpp's server must run here, but ${reason}`)
  console.warn(`tests with llama.cpp's server are skipped: ${reason}`)
  return reason
}

/** Starts one. @param port 0 takes any free one @throws Error with what it wrote */
export async function startLlamaServer(
  model: string,
  { contextLength, slots = 4, port = 0 }: { contextLength: number; slots?: number; port?: number },
): Promise<LlamaServer> {
  // One thread: several would wait for each other wherever the machine is busy.
  const arguments_ = [model, port, 1, contextLength, slots].map(String)
  const child = spawn('python3', ['-c', program, ...arguments_], {
    env: environment,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let words = ''
  child.stderr.on('data', (chunk: Buffer) => {
    words = (words + chunk.toString()).slice(-4000)
  })
  const exited = once(child, 'exit')
  const lines = createInterface({ input: child.stdout })
  const started = (async () => {
    for await (const line of lines) if (line.startsWith('http')) return line.trim()
    throw new Error(`llama.cpp's server did not start:\n${words}`)
  })()
  const url = await started
  return {
    url,
    signal: (name) => void child.kill(name),
    async close() {
      child.kill('SIGCONT')
      child.kill('SIGKILL')
      await exited
    },
  }
}
