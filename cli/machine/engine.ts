/**
 * `engine check`: whether a server can be sampled from.
 *
 * Invariants
 * - Nothing is started, and no home is needed.
 * - Exit code 1 where a check failed.
 */
import { Command, InvalidArgumentError, Option } from 'commander'
import { jsonOption, positiveInteger, shellPath } from '../terminal/options.ts'
import { openTerminal } from '../terminal/terminal.ts'

interface CheckFlags {
  readonly checkpoint?: string
  readonly contextLength: number
  readonly loraRank?: number
  readonly json?: boolean
}

/** `perdure engine`. */
export function engineCommand(): Command {
  return new Command('engine')
    .summary('check servers that actions may be sampled from')
    .description('Servers that actions may be sampled from (`policy.engine`, `policy.engineUrl`).')
    .addCommand(checkCommand())
}

/** @throws InvalidArgumentError */
function serverAddress(text: string): string {
  if (/^https?:$/.test(URL.parse(text)?.protocol ?? '')) return text
  throw new InvalidArgumentError('Use an address that begins with http:// or https://.')
}

function checkCommand(): Command {
  return new Command('check')
    .summary('ask a server all that an engine needs of it')
    .description(
      'Finds out what runs at an address (llama.cpp, vLLM or SGLang) and whether it can be sampled from:\n' +
        'whether its log-probabilities are those at the asked temperature, and, with --checkpoint, whether it\n' +
        'serves these weights. PERDURE_ENGINE_API_KEY is shown to it as a bearer token.',
    )
    .argument('<url>', 'address of the server, e.g. http://127.0.0.1:8080', serverAddress)
    .option(
      '--checkpoint <dir>',
      'the checkpoint, or folder of a published model, that it should serve',
      shellPath,
    )
    .addOption(
      new Option('--context-length <n>', 'tokens of a context at most')
        .argParser(positiveInteger)
        .default(1024),
    )
    .addOption(
      new Option(
        '--lora-rank <n>',
        'load, mix and unload adapters of this rank too; they are written below the folder for temporary files',
      ).argParser(positiveInteger),
    )
    .addOption(jsonOption())
    .addHelpText(
      'after',
      '\nExamples:\n  $ perdure engine check http://127.0.0.1:8080\n  $ perdure engine check http://127.0.0.1:8080 --checkpoint ./my-checkpoint --json\n  $ perdure engine check http://127.0.0.1:8000 --checkpoint ./model --lora-rank 16',
    )
    .action(async (url: string, { checkpoint, contextLength, loraRank, json }: CheckFlags) => {
      const { checkServer, serverKind } = await import('../../policy/dialects/server-check.ts')
      const terminal = openTerminal(json === undefined ? {} : { json })
      const apiKey = process.env.PERDURE_ENGINE_API_KEY || undefined
      const protocol = await serverKind(url, apiKey)
      terminal.say(`${protocol.name} at ${url}`)
      const checks = []
      for await (const result of checkServer({
        url,
        protocol,
        apiKey,
        checkpointDir: checkpoint,
        contextLength,
        adapterRank: loraRank,
      })) {
        checks.push(result)
        terminal.say(
          `${result.ok ? '✓' : '✗'} ${result.check}${result.detail === '' ? '' : `: ${result.detail}`}`,
        )
      }
      const ok = checks.every((each) => each.ok)
      terminal.report({ url, engine: protocol.name, ok, checks }, [
        ok ? 'It can be sampled from.' : 'It cannot be sampled from as it is.',
      ])
      if (!ok) process.exitCode = 1
    })
}
