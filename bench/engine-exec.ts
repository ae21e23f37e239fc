/** A program that the engine itself starts in a container: what a command through the shell is measured against. */
import type { Duplex } from 'node:stream'
import type Docker from 'dockerode'
import type { Engine } from '../worlds/containers/engine.ts'

/** @returns its status */
export async function runThroughEngine(
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
