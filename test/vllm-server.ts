/**
 * vLLM's real server for tests, with adapters, on the processor and in F32.
 *
 * Invariants
 * - It ends with the process that started it, however that ends, and so do the processes that it starts.
 * - Where there is none the reason is reported; `npm test -- --vllm` installs it, and then its absence is a failure.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'

/** Adapters of this rank at most are loaded; vLLM takes few values. */
const maxRank = 8
/** It imports PyTorch in several processes before it listens: half a minute, and minutes where all cores are taken. */
const startMs = 600_000

export interface VllmServer {
  readonly url: string
  /** Ends its processes at once. */
  kill(): Promise<void>
  /** The value of one of its counters, over all labels that contain the given one. */
  counter(name: string, label?: string): Promise<number>
}

/** Ends with the server, and ends the whole group when the process that started it is gone. */
const program = `
import os, signal, subprocess, sys, threading
server = [sys.executable, '-m', 'vllm.entrypoints.openai.api_server', *sys.argv[1:]]
child = subprocess.Popen(server, stdin=subprocess.DEVNULL)
threading.Thread(target=lambda: (sys.stdin.read(), os.killpg(0, signal.SIGKILL)), daemon=True).start()
os._exit(child.wait() or 1)
`

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

/** What a server is started with. */
export interface VllmSettings {
  readonly python: string
  /** The folder of the base. */
  readonly model: string
  readonly contextLength: number
  /** Adapters that may be in one batch. */
  readonly adapters: number
  /** A port that is free. */
  readonly port: number
  readonly flags?: readonly string[]
}

/** A port that nothing listens on. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new TypeError('a TCP server has a port')
  return address.port
}

/** Starts one and waits until it answers. @throws Error with what it wrote */
export async function startVllmServer(settings: VllmSettings): Promise<VllmServer> {
  const { python, port } = settings
  const child = spawn(python, ['-c', program, ...flagsOf(settings)], {
    // A folder of its name would stand before a package of Python.
    cwd: tmpdir(),
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: {
      ...process.env,
      VLLM_ALLOW_RUNTIME_LORA_UPDATING: '1',
      VLLM_CPU_KVCACHE_SPACE: '1',
      VLLM_CPU_OMP_THREADS_BIND: 'nobind',
      OMP_NUM_THREADS: '1',
      VLLM_NO_USAGE_STATS: '1',
      VLLM_LOGGING_LEVEL: 'WARNING',
      HF_HUB_OFFLINE: '1',
    },
  })
  const words = wordsOf(child)
  const url = `http://127.0.0.1:${port}`
  await untilHealthy(url, child, words)
  return {
    url,
    kill: () => killGroup(child),
    counter: (name, label = '') => counterOf(url, name, label),
  }
}

function flagsOf({ model, contextLength, adapters, port, flags = [] }: VllmSettings): string[] {
  return [
    ...['--model', model, '--served-model-name', 'base', '--host', '127.0.0.1', '--port', String(port)],
    ...['--dtype', 'float32', '--enforce-eager', '--max-model-len', String(contextLength)],
    ...['--logprobs-mode', 'processed_logprobs', '--enable-lora', '--max-lora-rank', String(maxRank)],
    '--enable-prompt-tokens-details',
    ...['--max-loras', String(adapters), '--max-num-seqs', '32', ...flags],
  ]
}

function wordsOf(child: ChildProcess): () => string {
  let words = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      words = (words + chunk.toString()).slice(-6000)
    })
  return () => words
}

async function untilHealthy(url: string, child: ChildProcess, words: () => string): Promise<void> {
  const until = performance.now() + startMs
  while (performance.now() < until) {
    if (child.exitCode !== null) break
    const healthy = await fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    )
    if (healthy) return
    await delay(200)
  }
  await killGroup(child)
  throw new Error(`vLLM's server did not start:\n${words()}`)
}

async function killGroup(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const exited = once(child, 'exit')
  process.kill(-child.pid, 'SIGKILL')
  await exited
}

async function counterOf(url: string, name: string, label: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`) && line.includes(label))
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0)
}
