import { expect, test } from 'vitest'
import { engineThat } from '../../../worlds/containers/engine.testing.ts'
import { openTaskSandbox, withContainers } from './sandbox.ts'

const spec = { image: 'none', user: '1000:1000' }
const faultOf = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    ({ name, kind, permanent, message }) => ({ name, kind, permanent, message }),
  )

// [TASK-SANDBOX-1]
test('faults of the engine are faults of the task, of the same kind and in the same words', async () => {
  const { docker } = await engineThat((_, response) => {
    response.writeHead(500, { 'Content-Type': 'application/json' })
    response.end('{"message":"the disk is full"}')
  })
  const { port } = docker.modem as { port?: number }
  const sandbox = await openTaskSandbox({ engine: `tcp://127.0.0.1:${port}` })
  try {
    const backend = { name: 'EnvironmentFault', kind: 'backend', permanent: false }
    const message = expect.stringMatching(/^looking for image none: .*the disk is full/)
    expect(await faultOf(sandbox.hasImage('none'))).toEqual({ ...backend, message })
    expect(await faultOf(sandbox.acquire(spec))).toMatchObject(backend)
  } finally {
    await sandbox.close()
  }
})

test('an address that is none is a bad setting, and an error of any other kind passes unchanged', async () => {
  expect(await faultOf(openTaskSandbox({ engine: 'ftp://here' }))).toMatchObject({
    ...{ name: 'EnvironmentFault', kind: 'bad_settings', permanent: true },
  })
  const path = new RangeError('the path leaves the container')
  await expect(withContainers(() => Promise.reject(path))).rejects.toBe(path)
})
