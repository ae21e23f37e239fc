/**
 * `ui`: Temporal's web interface of a home directory, until Ctrl-C.
 *
 * Invariants
 * - Joins a server that runs already, and stops one only as its last user.
 * - A home that holds no runs is reported, not made.
 * - A signal ends it at any time, also while it waits for a server to answer, and leaves no server behind.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { Command } from 'commander'
import { homeAt } from '../storage/home.ts'
import { CallFault, exitCodes } from './failure.ts'
import { watchInterrupts } from './interrupt.ts'
import { homeOption, jsonOption, type ReportOptions } from './options.ts'
import { openTerminal, type Terminal } from './terminal.ts'

interface UiOptions extends ReportOptions {
  readonly open?: boolean
}

/** `perdure ui`. */
export function uiCommand(): Command {
  return new Command('ui')
    .summary('serve the Temporal UI of a home directory')
    .description("Serves Temporal's web interface of a home directory: every run, group and episode.")
    .addOption(homeOption())
    .addOption(jsonOption())
    .option('--open', 'open it in the browser')
    .addHelpText('after', '\nExamples:\n  $ perdure ui\n  $ perdure ui --home /data/perdure --open')
    .action(serveUi)
}

async function serveUi(options: UiOptions): Promise<void> {
  const terminal = openTerminal(options)
  const { externalServer } = await import('../temporal/connection.ts')
  const home = homeAt(options.home)
  // Nothing is begun on another's server: without a listener a signal ends the command at once.
  if (externalServer() !== undefined) {
    await serveUntil(undefined, options, terminal)
    return
  }
  if (!existsSync(home.temporalFile))
    throw new CallFault('bad_flag', `--home ${options.home} holds no runs yet; \`perdure train\` starts one.`)
  using interrupt = watchInterrupts(() => undefined)
  await serveUntil(interrupt.signal, options, terminal)
}

/** @param signal ends it; without one it ends by itself */
async function serveUntil(
  signal: AbortSignal | undefined,
  options: UiOptions,
  terminal: Terminal,
): Promise<void> {
  const { connect } = await import('../temporal/connection.ts')
  const connection = await connect(options.home, {
    log: (line) => terminal.say(line),
    onFault: (fault) => terminal.say(fault.message),
    signal,
  }).catch((error: unknown) => {
    if (signal?.aborted !== true) throw error
    return undefined
  })
  if (connection === undefined) {
    terminal.say('Interrupted before the server answered.')
    process.exitCode = exitCodes.interrupted
    return
  }
  try {
    const { address, namespace, uiUrl } = connection
    const { dir } = homeAt(options.home)
    terminal.report({ url: uiUrl ?? null, temporal: address, namespace, home: dir }, [
      uiUrl === undefined
        ? `The server at ${address} is not ours: its operator knows where its UI is.`
        : `Temporal UI of ${dir}: ${uiUrl}`,
    ])
    if (uiUrl === undefined || signal === undefined) return
    if (options.open === true) openBrowser(uiUrl)
    terminal.say('Ctrl-C ends it.')
    // A listener alone does not keep the process alive.
    const alive = setInterval(() => undefined, 60_000)
    if (!signal.aborted) await once(signal, 'abort')
    clearInterval(alive)
  } finally {
    await connection.close()
  }
}

function openBrowser(address: string): void {
  const command = process.platform === 'darwin' ? 'open' : 'xdg-open'
  // Without a desktop there is no browser; the address is on the screen.
  spawn(command, [address], { detached: true, stdio: 'ignore' })
    .on('error', () => undefined)
    .unref()
}
