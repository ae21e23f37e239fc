/** Other programs that read what Perdure writes: TensorBoard, MLflow, pandas and wandb, each its own code in Python. */
import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { freePort } from '../host/free-port.ts'
import { eventually } from '../support/perdure-process.ts'

const run = promisify(execFile)
const script = join(import.meta.dirname, 'trackers.py')
const modules = 'import tensorboard, mlflow, pandas, wandb'

/** A Python that has them: the one that `PERDURE_TRACKERS_PYTHON` names, or `python3`; undefined where neither has. */
export function pythonWithTrackers(): string | undefined {
  const python = process.env.PERDURE_TRACKERS_PYTHON ?? 'python3'
  const found = spawnSync(python, ['-c', modules], { stdio: 'ignore' }).status === 0
  if (!found && process.env.PERDURE_REQUIRE_TRACKERS === '1')
    throw new Error(`${python} cannot \`${modules}\`, and PERDURE_REQUIRE_TRACKERS says that it must`)
  return found ? python : undefined
}

/** Steps and values by tag. */
export type Events = Readonly<Record<string, readonly (readonly [number, number, number])[]>>

export interface MlflowRuns {
  readonly experiments: readonly string[]
  readonly runs: readonly {
    readonly name: string
    readonly status: string
    readonly params: Readonly<Record<string, string>>
    readonly metrics: Readonly<Record<string, readonly (readonly [number, number])[]>>
  }[]
}

export interface DataFrame {
  readonly columns: readonly string[]
  readonly types: readonly string[]
  readonly rows: readonly Readonly<Record<string, unknown>>[]
}

interface Found {
  readonly tensorboard: Events
  readonly mlflow: MlflowRuns
  readonly pandas: DataFrame
}

/** Reads a folder or file with the reader of its kind. */
export async function readBy<K extends keyof Found>(
  kind: K,
  path: string,
  python: string,
): Promise<Found[K]> {
  const { stdout } = await run(python, [script, kind, path], { maxBuffer: 64 * 1024 * 1024 })
  return JSON.parse(stdout.slice(stdout.lastIndexOf('\n', stdout.length - 2) + 1)) as Found[K]
}

/** A tracking server of MLflow over a database of its own. */
export interface MlflowServer extends AsyncDisposable {
  readonly url: string
}

/** @param folder for its database */
export async function startMlflow(folder: string, python: string): Promise<MlflowServer> {
  const port = await freePort()
  const words = ['--backend-store-uri', `sqlite:///${join(folder, 'mlflow.db')}`, '--workers', '1']
  const server = spawn(
    python,
    ['-m', 'mlflow', 'server', '--host', '127.0.0.1', '--port', `${port}`, ...words],
    // Its job execution starts processes that outlive it.
    {
      cwd: folder,
      detached: true,
      stdio: 'ignore',
      env: { ...process.env, MLFLOW_SERVER_ENABLE_JOB_EXECUTION: 'false' },
    },
  )
  const ended = once(server, 'close')
  const url = `http://127.0.0.1:${port}`
  const stopped: MlflowServer = {
    url,
    async [Symbol.asyncDispose]() {
      if (server.pid !== undefined && server.exitCode === null) process.kill(-server.pid, 'SIGKILL')
      await ended
    },
  }
  try {
    await eventually("MLflow's server", async () => {
      if (server.exitCode !== null) throw new Error(`MLflow's server ended with ${server.exitCode}`)
      return (await fetch(`${url}/health`).catch(() => undefined))?.ok === true ? true : undefined
    })
  } catch (error) {
    await stopped[Symbol.asyncDispose]()
    throw error
  }
  return stopped
}

/** The upload of `wandb sync` from an offline folder. */
export interface Uploaded {
  /** The run, as its server is asked to enter it. */
  readonly runs: readonly Readonly<Record<string, unknown>>[]
  readonly history: readonly Readonly<Record<string, unknown>>[]
  readonly isComplete: boolean
}

/** Uploads by the real `wandb sync`, to a server of this process that takes everything. */
export async function wandbSync(folder: string, python: string): Promise<Uploaded> {
  const runs: Record<string, unknown>[] = []
  const history: Record<string, unknown>[] = []
  let isComplete = false
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const sent = Buffer.concat(parts)
      const body = JSON.parse(
        (request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent).toString() || '{}',
      )
      if (body.operationName === 'UpsertBucket') runs.push(body.variables)
      history.push(
        ...(body.files?.['wandb-history.jsonl']?.content ?? []).map((line: string) => JSON.parse(line)),
      )
      isComplete ||= body.complete === true
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ data: answers[body.operationName as string] ?? {} }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const own = mkdtempSync(join(tmpdir(), 'perdure-wandb-'))
  try {
    await run(python, ['-m', 'wandb', 'sync', '--yes', folder], {
      timeout: 60_000,
      env: {
        ...process.env,
        HOME: own,
        WANDB_BASE_URL: `http://127.0.0.1:${port}`,
        WANDB_API_KEY: '0'.repeat(40),
        WANDB_ERROR_REPORTING: 'false',
      },
    })
  } finally {
    server.closeAllConnections()
    server.close()
    rmSync(own, { recursive: true, force: true })
  }
  return { runs, history, isComplete }
}

const bucket = {
  id: 'run',
  name: 'run',
  displayName: 'run',
  description: '',
  config: '{}',
  sweepName: null,
  project: { id: 'project', name: 'perdure', entity: { id: 'entity', name: 'someone' } },
  historyLineCount: 0,
}

/** Answers to the questions that an upload asks. */
const answers: Readonly<Record<string, unknown>> = {
  UpsertBucket: { upsertBucket: { bucket, inserted: true } },
  CreateRunFiles: { createRunFiles: { runID: 'run', uploadHeaders: [], files: [] } },
}
