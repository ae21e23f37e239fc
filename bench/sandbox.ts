/**
 * Containers: how long a session waits for one, and for a command in it.
 *
 * Reference of acquiring: what the engine itself takes to create and start a container, one after the other,
 * in the same run. Reference of a command: the engine's own exec. Without an engine at `DOCKER_HOST` one is
 * started for the benchmark.
 *
 * Invariants
 * - Sixteen sessions ask at the same moment, and each asking finds the pool as full as it is kept.
 * - Sessions are played to their end: what they release is removed while others work.
 */

import type { Duplex } from 'node:stream'
import type Docker from 'dockerode'
import { processScope } from '../machine/processes/process.ts'
import { busyboxTar, engineMissing, startEngine } from '../test/host/container-engine.ts'
import { containerSettings } from '../worlds/containers/container-settings.ts'
import { connectEngine, type Engine } from '../worlds/containers/engine.ts'
import { remove } from '../worlds/containers/life/container-life.ts'
import { openSandbox } from '../worlds/containers/open.ts'
import type { Container, ContainerSpec, Sandbox } from '../worlds/containers/sandbox.ts'
import { type Figure, quantile } from './figure.ts'

const sessions = 16
const rounds = 8
const commandsPerSession = 8
const referenceStarts = 20
const script = 'echo $((1 + 1))'
const words = ['sh', '-c', script]
const image = 'perdure-bench:1'
const spec: ContainerSpec = { image, user: '1000:1000', memoryBytes: 2 ** 26, processes: 64 }

/** Runs the benchmark; it fails where no engine can be had. */
export async function bench(): Promise<Figure[]> {
  await using stack = new AsyncDisposableStack()
  const address = process.env.DOCKER_HOST ?? (await ownEngine(stack))
  const sandbox = await openSandbox({ engine: address, log: (line) => console.error(line) })
  stack.defer(() => sandbox.close())
  if (!(await sandbox.hasImage(image))) await sandbox.importImage(image, busyboxTar())
  const engine = await connectEngine(address)

  const starts = await engineStarts(engine)
  const { acquires, together, togetherByEngine, alone, aloneByEngine } = await play(sandbox, engine)
  return [
    figure(`acquire p50, ${sessions} sessions`, quantile(acquires, 0.5), quantile(starts, 0.5)),
    figure(`acquire p99, ${sessions} sessions`, quantile(acquires, 0.99), quantile(starts, 0.99)),
    figure('exec p50, 1 session', quantile(alone, 0.5), quantile(aloneByEngine, 0.5)),
    figure(`exec p50, ${sessions} sessions`, quantile(together, 0.5), quantile(togetherByEngine, 0.5)),
    figure(`exec p99, ${sessions} sessions`, quantile(together, 0.99), quantile(togetherByEngine, 0.99)),
  ]
}

function figure(name: string, value: number, reference: number): Figure {
  return { name, value, unit: 'ms', reference, ratio: value / reference }
}

async function ownEngine(stack: AsyncDisposableStack): Promise<string> {
  const missing = engineMissing()
  if (missing !== undefined) throw new Error(`no container engine: ${missing}; name one in DOCKER_HOST`)
  const engine = await startEngine()
  stack.defer(() => engine.close())
  return engine.address
}

/** All times in milliseconds. */
async function play(sandbox: Sandbox, engine: Engine) {
  const acquires: number[] = []
  const together: number[] = []
  const togetherByEngine: number[] = []
  const alone: number[] = []
  const aloneByEngine: number[] = []
  sandbox.keepWarm(spec, sessions)
  for (let round = 0; round < rounds; round++) {
    await sandbox.whenWarm()
    const containers = await Promise.all(
      Array.from({ length: sessions }, () => timed(acquires, () => sandbox.acquire(spec))),
    )
    // Commands are measured beside each other, and not beside containers that start.
    await sandbox.whenWarm()
    await Promise.all(containers.map((container) => commands(together, () => container.exec(script))))
    await Promise.all(
      containers.map((container) => timed(togetherByEngine, () => byEngine(engine, container))),
    )
    for (const container of containers.slice(0, 1)) {
      await commands(alone, () => container.exec(script))
      await timed(aloneByEngine, () => byEngine(engine, container))
    }
    await Promise.all(containers.map((container) => container.release()))
  }
  return { acquires, together, togetherByEngine, alone, aloneByEngine }
}

function byEngine(engine: Engine, { id }: Container): Promise<unknown> {
  return runThroughEngine(engine, engine.docker.getContainer(id), words)
}

async function commands(times: number[], run: () => Promise<unknown>): Promise<void> {
  for (let command = 0; command < commandsPerSession; command++) await timed(times, run)
}

async function engineStarts({ docker }: Engine): Promise<number[]> {
  const times: number[] = []
  for (let at = 0; at < referenceStarts; at++) {
    const id = `perdure-bench-${process.pid}-${at}`
    const container = docker.getContainer(id)
    await timed(times, async () => {
      await docker.createContainer(containerSettings(spec, { id, scope: processScope(), owner: id }))
      await container.start()
    })
    await remove(container)
  }
  return times
}

async function timed<T>(times: number[], work: () => Promise<T>): Promise<T> {
  const started = performance.now()
  const result = await work()
  times.push(performance.now() - started)
  return result
}

/** @returns its status */
async function runThroughEngine(
  { docker }: Engine,
  container: Docker.Container,
  command: readonly string[],
): Promise<number | null> {
  const exec = await container.exec({
    Cmd: [...command],
    User: '0:0',
    AttachStdout: true,
    AttachStderr: true,
  })
  const connection: Duplex = await exec.start({ hijack: true })
  const ended = new Promise((resolve) => {
    for (const event of ['end', 'close', 'error']) connection.on(event, resolve)
  })
  connection.resume()
  await ended
  connection.destroy()
  return (await docker.getExec(exec.id).inspect()).ExitCode
}
