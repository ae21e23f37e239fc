/**
 * A server of an engine for tests: a module of Python that listens on a port, in a process group of its own.
 *
 * Invariants
 * - It ends with the process that started it, however that ends, and so do the processes that it starts.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'

/** It imports PyTorch in several processes before it listens: half a minute, and minutes where all cores are taken. */
const startMs = 600_000

/** A server that answers. */
export interface ServerProcess {
  readonly url: string
  /** Ends its processes at once. */
  kill(): Promise<void>
  /** The value of one of its counters, over all labels that contain the given one. */
  counter(name: string, label?: string): Promise<number>
}

/** A server as a Python module. */
export interface ServerModule {
  /** Shown where it does not start. */
  readonly name: string
  readonly python: string
  readonly module: string
  readonly port: number
  readonly flags: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** Ends with the server, and ends the whole group when the process that started it is gone. */
const program = `
import os, signal, subprocess, sys, threading
server = [sys.executable, '-m', *sys.argv[1:]]
child = subprocess.Popen(server, stdin=subprocess.DEVNULL)
threading.Thread(target=lambda: (sys.stdin.read(), os.killpg(0, signal.SIGKILL)), daemon=True).start()
os._exit(child.wait() or 1)
`

/** Starts one and waits until it answers. @throws Error with what it wrote */
export async function startServer(of: ServerModule): Promise<ServerProcess> {
  const child = spawn(of.python, ['-c', program, of.module, ...of.flags], {
    // A folder of its name would stand before a package of Python.
    cwd: tmpdir(),
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...of.env },
  })
  const words = wordsOf(child)
  const url = `http://127.0.0.1:${of.port}`
  await untilHealthy(url, child, () => `${of.name}'s server did not start:\n${words()}`)
  return {
    url,
    kill: () => killGroup(child),
    counter: (name, label = '') => counterOf(url, name, label),
  }
}

function wordsOf(child: ChildProcess): () => string {
  let words = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      words = (words + chunk.toString()).slice(-6000)
    })
  return () => words
}

async function untilHealthy(url: string, child: ChildProcess, failure: () => string): Promise<void> {
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
  throw new Error(failure())
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
