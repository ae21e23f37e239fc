/**
 * Servers in Python for tests, each on a free port: programs of `test/peers` with the packages of `PERDURE_ENVIRONMENTS_PYTHON`
 * (openenv 0.10.0, fastmcp, agentrl-worker 0.4.0, agentrl-eval 0.1.2).
 *
 * Invariants
 * - A server ends with its test, also one that was frozen.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../host/free-port.ts'

const python = process.env.PERDURE_ENVIRONMENTS_PYTHON ?? 'python3'

/** Whether Python has these modules. */
export function pythonHas(...modules: readonly string[]): boolean {
  return spawnSync(python, ['-c', `import ${modules.join(', ')}`], { stdio: 'ignore' }).status === 0
}

export interface PythonServer {
  readonly url: string
  readonly port: number
  signal(name: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): void
  close(): Promise<void>
}

/**
 * Starts a server, and waits until it answers.
 * @param args with PORT in the place of the port
 * @param path of a page that it answers with status 200 @param folder below `test/peers` where it starts
 */
export async function startPython(
  args: readonly string[],
  path: string,
  { port, folder = '.' }: { readonly port?: number | undefined; readonly folder?: string } = {},
): Promise<PythonServer> {
  const at = port ?? (await freePort())
  const url = `http://127.0.0.1:${at}`
  const child = spawn(
    python,
    args.map((word) => word.replaceAll('PORT', String(at))),
    { cwd: join(import.meta.dirname, folder), stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let said = ''
  child.stderr.on('data', (text: Buffer) => {
    said = (said + text.toString()).slice(-2000)
  })
  for (;;) {
    if (child.exitCode !== null) throw new Error(`${args.join(' ')} ended: ${said}`)
    const answer = await fetch(url + path).catch(() => undefined)
    await answer?.body?.cancel()
    if (answer?.status === 200) break
    // Importing its packages takes half a minute on a busy machine.
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  return {
    url,
    port: at,
    signal: (name) => void child.kill(name),
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGKILL')
      await once(child, 'close')
    },
  }
}

/** Runs a program to its end in an empty folder. @returns what it wrote */
export async function runPython(args: readonly string[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-peer-'))
  try {
    // Vitest's own variables, such as BASE_URL, are settings of some programs.
    const { PATH, HOME } = process.env
    const child = spawn(python, args, { cwd: folder, env: { PATH, HOME }, stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text: Buffer) => {
        said += text.toString()
      })
    await once(child, 'close')
    return said
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
