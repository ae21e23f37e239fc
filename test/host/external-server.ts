/** A Temporal server that no Perdure process looks after, as an operator runs it: it is killed and started again by the test. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Connection } from '@temporalio/client'
import { obtainTemporalBinary } from '../../temporal/server/startup/fetch-binary.ts'
import { isPortOpen } from '../../temporal/server/startup/ports.ts'
import { eventually } from '../support/perdure-process.ts'
import { freePort } from './free-port.ts'

export interface ExternalServer extends AsyncDisposable {
  readonly address: string
  readonly pid: number
  /** Ends it at once. */
  kill(): Promise<void>
  /** Starts it on its file and its port, and waits until it answers. */
  start(): Promise<void>
}

/** Starts one. */
export async function startExternalServer(): Promise<ExternalServer> {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-external-'))
  const { path } = await obtainTemporalBinary(() => undefined)
  const port = await freePort()
  let child: ChildProcess | undefined

  async function start(): Promise<void> {
    const words = ['server', 'start-dev', '--ip', '127.0.0.1', '--port', `${port}`, '--headless']
    child = spawn(path, [...words, '--log-level', 'error', '--db-filename', 'temporal.db'], {
      cwd: folder,
      stdio: 'ignore',
    })
    await eventually('the server to listen', async () => ((await isPortOpen(port)) ? true : undefined))
    // A command gives up after eight seconds, in which a server that has just begun need not answer on a busy machine.
    const connection = await Connection.connect({ address: `127.0.0.1:${port}`, connectTimeout: '5 minutes' })
    await connection.close()
  }

  async function kill(): Promise<void> {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }

  await start()
  return {
    address: `127.0.0.1:${port}`,
    get pid() {
      return child?.pid ?? 0
    },
    start,
    kill,
    async [Symbol.asyncDispose]() {
      await kill()
      rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
    },
  }
}
