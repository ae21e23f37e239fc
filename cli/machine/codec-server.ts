/**
 * `codec-server`: lets the Temporal UI show encrypted payloads, until Ctrl-C.
 *
 * Invariants
 * - Without keys it says how to give them and starts nothing.
 */
import { once } from 'node:events'
import { Command } from 'commander'
import { loopback } from '../../machine/network/listening.ts'
import { CallFault } from '../terminal/failure.ts'
import { watchInterrupts } from '../terminal/interrupt.ts'
import { portNumber, reporting } from '../terminal/options.ts'
import { openTerminal } from '../terminal/terminal.ts'

interface CodecServerFlags {
  readonly host: string
  readonly port: number
  readonly origin?: readonly string[]
  readonly home: string
  readonly json?: boolean
}

/** Addresses of the embedded server's UI: the ports it tries in turn, and the recorded port of the home. */
async function uiOrigins(home: string): Promise<readonly string[]> {
  const { possibleUiPorts } = await import('../../temporal/server/startup/ports.ts')
  const { inspectTemporal } = await import('../../temporal/server/server.ts')
  const recorded = (await inspectTemporal(home))?.record.uiPort
  const ports = new Set([...possibleUiPorts(), ...(recorded === undefined ? [] : [recorded])])
  return [...ports].flatMap((port) => [`http://localhost:${port}`, `http://${loopback}:${port}`])
}

/** `perdure codec-server`. */
export function codecServerCommand(): Command {
  return reporting(
    new Command('codec-server')
      .summary('let the Temporal UI show encrypted payloads')
      .description(
        'Decrypts payloads for the Temporal UI with the keys of PERDURE_PAYLOAD_KEYS.\n' +
          'Enter the printed address in the UI: the glasses at the top right, "Codec Server Endpoint".',
      )
      .option('--host <host>', 'where to listen; another than loopback needs PERDURE_CODEC_TOKEN', loopback)
      .option('--port <n>', 'port; any free one by default', portNumber, 0)
      .option(
        '--origin <url>',
        "the UI's address, where it is not an embedded server's of this machine; repeatable",
        collected,
      ),
    ['codec-server', 'codec-server --port 8888 --origin https://temporal.example.org'],
  ).action(async ({ host, port, origin, home, json }: CodecServerFlags) => {
    const { keyRing, keysFileVariable, keysVariable } = await import('../../temporal/payload-encryption.ts')
    const { serveCodec } = await import('../../temporal/codec-server.ts')
    const keys = keyRing()
    if (keys === undefined)
      throw new CallFault(
        'bad_flag',
        `There are no keys: set ${keysVariable} or ${keysFileVariable}, as for the workers.`,
      )
    const terminal = openTerminal(json === undefined ? {} : { json })
    using interrupt = watchInterrupts(() => undefined)
    const token = process.env.PERDURE_CODEC_TOKEN
    const server = await serveCodec({
      keys,
      host,
      port,
      origins: origin ?? (await uiOrigins(home)),
      token: token === '' ? undefined : token,
    })
    try {
      terminal.report({ endpoint: server.endpoint }, [`Codec server for the Temporal UI: ${server.endpoint}`])
      terminal.say('Ctrl-C ends it.')
      if (!interrupt.signal.aborted) await once(interrupt.signal, 'abort')
    } finally {
      await server.close()
    }
  })
}

function collected(origin: string, before: readonly string[] = []): readonly string[] {
  return [...before, origin]
}
