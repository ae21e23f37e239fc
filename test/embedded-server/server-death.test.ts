import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, Connection } from '@temporalio/client'
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker'
import { expect, test, vi } from 'vitest'
import { startTemporal } from '../../temporal/server/server.ts'
import type { patient } from './patient.ts'

const taskQueue = 'patient'

// The server's death makes the worker complain, as it should.
Runtime.install({ logger: new DefaultLogger('ERROR') })

test('kill -9 of the server in the middle of a workflow: it is restarted and the workflow continues', async () => {
  const home = mkdtempSync(join(tmpdir(), 'perdure-death-'))
  const server = await startTemporal(home)
  const connection = await NativeConnection.connect({ address: server.address })
  const worker = await Worker.create({
    connection,
    taskQueue,
    workflowsPath: fileURLToPath(new URL('./patient.ts', import.meta.url)),
  })
  const clientConnection = await Connection.connect({ address: server.address })
  const client = new Client({ connection: clientConnection })
  try {
    await worker.runUntil(async () => {
      const handle = await client.workflow.start<typeof patient>('patient', {
        workflowId: 'patient',
        taskQueue,
        args: [8],
      })
      // Two waits are over: the workflow is in the middle.
      await vi.waitFor(async () => expect((await handle.describe()).historyLength).toBeGreaterThan(12), {
        timeout: 30_000,
        interval: 100,
      })
      const former = server.pid
      process.kill(former, 'SIGKILL')
      expect(await handle.result()).toBe(8)
      expect(server.restarts).toBe(1)
      expect(server.pid).not.toBe(former)
    })
  } finally {
    await clientConnection.close()
    await connection.close()
    await server.close()
    rmSync(home, { recursive: true, force: true })
  }
})
