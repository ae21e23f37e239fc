/** The real agentrl-worker and agentrl-eval, unmodified: `PERDURE_ENVIRONMENTS_PYTHON` names a Python that has both. */
import { afterEach, describe, expect, it } from 'vitest'
import { remoteEnvironment } from '../../envs/remote/remote-environment.ts'
import { guessNumber } from '../../examples/guess-number/index.ts'
import type { AssistantMessage } from '../../messages/message.ts'
import { freePort } from '../../test/host/free-port.ts'
import { pythonHas, runPython, startPython } from '../../test/peers/python-server.ts'
import { eventually } from '../../test/support/perdure-process.ts'
import { type EnvironmentServer, serveEnvironments } from './environment-server.ts'
import { recordBetween } from './recorded-programs.testing.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

/** A controller with a task of its own. */
async function controller(): Promise<EnvironmentServer> {
  const task = await guessNumber.open({})
  closing.push(() => task.close())
  const tasks = [{ name: 'own', task, split: 'train', size: 10, turnLimit: 3 }]
  const server = await serveEnvironments({ tasks, places: 2, port: 0 })
  closing.push(() => server.close())
  return server
}

/** The worker of the task `number`, once the controller knows it. */
async function worker({ url }: EnvironmentServer) {
  const port = await freePort()
  const between = await recordBetween('worker', 'agentrl-worker 0.4.0', `http://127.0.0.1:${port}`)
  closing.push(() => between.close())
  const heartbeats = await recordBetween('heartbeat', 'agentrl-worker 0.4.0', new URL(url).origin)
  closing.push(() => heartbeats.close())
  const address = ['-C', `${heartbeats.url}/api`, '-s', `${between.url}/api`, '--port', 'PORT']
  const args = ['-m', 'agentrl.worker', 'number', '-c', 'number.yaml', ...address]
  const started = await startPython(args, '/api/worker_status', { port, folder: 'agentrl' })
  closing.push(() => started.close())
  await eventually('the heartbeat of the worker', async () => ((await offers(url)) ? true : undefined))
  return started
}

async function offers(url: string): Promise<boolean> {
  return (await fetch(`${url}/get_indices?name=number`)).ok
}

const guess = (n: number): AssistantMessage => ({
  role: 'assistant',
  content: '',
  tool_calls: [{ name: 'guess', arguments: { n } }],
})

describe.skipIf(!pythonHas('agentrl.worker', 'agentrl.eval'))('programs of AgentRL', () => {
  // [AGENTRL-1] [CONTROLLER-2]
  it("a worker's task is played to its reward, and its death is a lost session", async () => {
    const server = await controller()
    const { signal } = await worker(server)
    const task = await remoteEnvironment(`agentrl+${server.url}#number`, 'it').open({})
    closing.push(() => task.close())
    const [won, lost] = [await task.create(), await task.create()]
    await won.reset('train/3')
    await won.step({ role: 'assistant', content: 'Hm.' })
    expect(await won.step(guess(1))).toMatchObject({ reward: 0, done: false })
    expect(await won.step(guess(3))).toMatchObject({ reward: 1, done: true, outcome: 'completed' })
    await lost.reset('train/4')
    signal('SIGKILL')
    await expect(lost.step(guess(4))).rejects.toMatchObject({ kind: 'session_lost' })
    await Promise.all([won.close(), lost.close()])
    expect(await (await fetch(`${server.url}/list_sessions`)).json()).toEqual({})
    await eventually('the end of the worker', async () => ((await offers(server.url)) ? undefined : true))
  }, 120_000)

  it.each(['own', 'number'])(
    'eval plays the task %s to its end',
    async (name) => {
      const server = await controller()
      if (name === 'number') await worker(server)
      const model = ['--client', 'dummy', '--dummy-interval', '0.02']
      const between = await recordBetween('eval', 'agentrl-eval 0.1.2', new URL(server.url).origin)
      closing.push(() => between.close())
      const what = [
        '--controller',
        `${between.url}/api`,
        '--indices-range',
        '0-3',
        '--concurrency',
        '3',
        name,
      ]
      const said = await runPython(['-m', 'agentrl.eval', ...model, '--no-interactive', ...what])
      expect(said.match(/completed task=.* status="task limit reached" reward=0\.0/g)).toHaveLength(4)
      expect(said).toContain('valid=4')
    },
    120_000,
  )
})
