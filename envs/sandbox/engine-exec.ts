/**
 * Programs that the engine itself starts in a container, past the shell of the agent's commands.
 *
 * Invariants
 * - A program that is out of time, or says far more than is kept, is ended by ending its container: the engine
 *   cannot kill what it has started by exec, and what it left behind could be anything.
 */
import type { Duplex } from 'node:stream'
import type Docker from 'dockerode'
import type { Engine } from './engine.ts'
import { createFrameReader } from './frames.ts'
import { floodBytes, KeptOutput } from './kept-output.ts'
import type { ExecOptions, ExecResult } from './sandbox.ts'

const defaultDeadlineMs = 30_000
const defaultOutputBytes = 64 * 2 ** 10

/** @param end ends the container */
export async function runThroughEngine(
  engine: Engine,
  container: Docker.Container,
  command: readonly string[],
  options: ExecOptions & { readonly user?: string },
  end: () => void,
): Promise<ExecResult> {
  const { deadlineMs = defaultDeadlineMs, outputBytes = defaultOutputBytes, stdin } = options
  const exec = await container.exec({
    Cmd: [...command],
    User: options.user ?? '0:0',
    Env: Object.entries(options.environment ?? {}).map(([name, value]) => `${name}=${value}`),
    AttachStdin: stdin !== undefined,
    AttachStdout: true,
    AttachStderr: true,
    ...(options.workingDirectory === undefined ? {} : { WorkingDir: options.workingDirectory }),
  })
  const connection: Duplex = await exec.start({ hijack: true, stdin: stdin !== undefined })
  const output = { stdout: new KeptOutput(outputBytes), stderr: new KeptOutput(outputBytes) }
  const settled = Promise.withResolvers<'over' | 'late' | 'flood'>()
  connection.on(
    'data',
    createFrameReader((stream, bytes) => {
      output[stream].push(bytes)
      if (output.stdout.bytes + output.stderr.bytes > 2 * outputBytes + floodBytes) settled.resolve('flood')
    }),
  )
  for (const event of ['end', 'close', 'error']) connection.on(event, () => settled.resolve('over'))
  if (stdin !== undefined) connection.end(stdin)
  const timer = setTimeout(() => settled.resolve('late'), deadlineMs)
  const how = await settled.promise
  clearTimeout(timer)
  connection.destroy()
  const timedOut = how === 'late'
  if (how !== 'over') end()
  const { stdout, stderr } = output
  return {
    exitCode: timedOut
      ? 124
      : how === 'flood'
        ? 137
        : ((await engine.docker.getExec(exec.id).inspect()).ExitCode ?? 137),
    stdout: stdout.text,
    stderr: stderr.text,
    timedOut,
    truncated: stdout.truncated || stderr.truncated,
  }
}
