/**
 * `serve RUN[@VERSION]`: the policy of a run behind the APIs that agents speak, until Ctrl-C.
 *
 * Invariants
 * - The address is printed once it answers; with `--json` as the first and only line of standard output.
 */
import { once } from 'node:events'
import { Command } from 'commander'
import { loopback } from '../../machine/network/listening.ts'
import { watchInterrupts } from '../terminal/interrupt.ts'
import {
  portNumber,
  type ReportOptions,
  type RunVersion,
  reporting,
  runVersion,
} from '../terminal/options.ts'
import { openTerminal } from '../terminal/terminal.ts'

interface ServeOptions extends ReportOptions {
  readonly host: string
  readonly port: number
}

/** `perdure serve RUN[@VERSION]`. */
export function serveCommand(): Command {
  return reporting(
    new Command('serve')
      .summary("serve a run's policy to agents, by OpenAI's, Anthropic's and vLLM's APIs")
      .description(
        'Answers /v1/chat/completions, /v1/completions, /v1/responses, /v1/messages and /inference/v1/generate with the policy of a run.\n' +
          'The model RUN is its newest version, RUN@7 its version 7.',
      )
      .argument(
        '<run[@version]>',
        'run, and the only version to serve; by default all that it keeps',
        runVersion,
      )
      .option('--port <n>', 'port; any free one by default', portNumber, 0)
      .option('--host <host>', 'where to listen; another than loopback needs PERDURE_SERVE_TOKEN', loopback),
    ['serve first --port 8000', 'serve first@20 --json'],
  ).action(serve)
}

async function serve(
  { run, version }: RunVersion,
  { home, host, port, json = false }: ServeOptions,
): Promise<void> {
  const { servePolicy } = await import('../../client/serving/policy-server.ts')
  const terminal = openTerminal({ json })
  using interrupt = watchInterrupts(() => undefined)
  const token = process.env.PERDURE_SERVE_TOKEN
  const server = await servePolicy({
    home,
    run,
    version,
    host,
    port,
    token: token === '' ? undefined : token,
    log: (line) => terminal.say(line),
  })
  try {
    terminal.report({ url: server.url }, [`${run} is served at ${server.url}`])
    terminal.say('Ctrl-C ends it.')
    if (!interrupt.signal.aborted) await once(interrupt.signal, 'abort')
  } finally {
    await server.close()
  }
}
