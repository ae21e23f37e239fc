/**
 * `ui`: the page of a home directory, with curves, episodes and tokens of its runs, and Temporal's web interface beside
 * it, until Ctrl-C.
 *
 * Invariants
 * - The page needs no server: it is there at once, also where Temporal's cannot be had, and in a home that is read-only.
 * - Joins a Temporal server that runs already, and stops one only as its last user.
 * - A home that holds no runs is reported, not made.
 * - A signal ends it at any time, also while it waits for a server to answer, and leaves no server behind.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Command } from 'commander'
import type { TemporalPlace } from '../../dashboard/home/shown-home.ts'
import type { Dashboard, DashboardOptions } from '../../dashboard/server.ts'
import { reasonOf } from '../../faults/reason.ts'
import { ListeningFault, loopback } from '../../machine/network/listening.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { hasStore } from '../../storage/place.ts'
import type { TemporalConnection } from '../../temporal/connection.ts'
import { CallFault } from '../terminal/failure.ts'
import { watchInterrupts } from '../terminal/interrupt.ts'
import { portNumber, type ReportOptions, reporting } from '../terminal/options.ts'
import { openTerminal, type Terminal } from '../terminal/terminal.ts'

interface UiOptions extends ReportOptions {
  readonly host: string
  readonly port?: number
  readonly steer?: boolean
  readonly open?: boolean
}

/** The same address each time, so that links keep working; where it is taken, any other. */
const usualPort = 8450

/** `perdure ui`. */
export function uiCommand(): Command {
  return reporting(
    new Command('ui')
      .summary('show runs, episodes and tokens in the browser')
      .description(
        'Serves the page of a home directory: curves, comparisons, episodes turn by turn and token by token. It links to\n' +
          "Temporal's web interface, which shows every workflow. With --json the first line has both addresses.",
      )
      .option('--port <n>', `port; ${usualPort} by default, or a free one where that is taken`, portNumber)
      .option(
        '--host <host>',
        'where to listen; another than loopback asks for a token, PERDURE_UI_TOKEN or one of its own',
        loopback,
      )
      .option('--steer', 'let the page give orders to runs and branch episodes')
      .option('--open', 'open it in the browser'),
    ['ui', 'ui --home /data/perdure --open', 'ui --steer --port 8450'],
  ).action(serveUi)
}

async function serveUi(options: UiOptions): Promise<void> {
  const terminal = openTerminal(options)
  const home = homeAt(options.home)
  if (!(await hasStore(home.storeFile)))
    throw new CallFault('bad_flag', `--home ${options.home} holds no runs yet; \`perdure train\` starts one.`)
  using interrupt = watchInterrupts(() => undefined)
  const { signal } = interrupt
  let temporal: TemporalPlace | undefined
  const dashboard = await startDashboard(options, terminal, () => temporal)
  try {
    // Without --json a person need not wait for the server.
    if (options.json !== true) terminal.report({}, [`Page of ${home.dir}: ${dashboard.url}`])
    if (options.open === true) openBrowser(dashboard.url)
    const connection = await reachTemporal(options.home, terminal, signal)
    try {
      temporal = connection && placeOf(connection)
      terminal.report({ url: dashboard.url, temporal: temporal?.url ?? null, home: home.dir }, [
        ...(temporal === undefined ? [] : [`Temporal UI: ${temporal.url}`]),
      ])
      terminal.say('Ctrl-C ends it.')
      if (!signal.aborted) await once(signal, 'abort')
    } finally {
      await connection?.close()
    }
  } finally {
    await dashboard.close()
  }
}

async function startDashboard(
  { home, host, port, steer = false }: UiOptions,
  terminal: Terminal,
  temporal: () => TemporalPlace | undefined,
): Promise<Dashboard> {
  const { serveDashboard } = await import('../../dashboard/server.ts')
  const { pageFolder } = await import('../../dashboard/page-files.ts')
  const token = process.env.PERDURE_UI_TOKEN
  const options: Omit<DashboardOptions, 'port'> = {
    home,
    host,
    token: token === '' ? undefined : token,
    page: await pageFolder(),
    canSteer: steer,
    temporal,
    log: (line) => terminal.say(line),
  }
  try {
    return await serveDashboard({ ...options, port: port ?? usualPort })
  } catch (error) {
    if (port !== undefined || !(error instanceof ListeningFault && error.kind === 'not_available'))
      throw error
    return serveDashboard({ ...options, port: 0 })
  }
}

/** @returns undefined where no server can be had: the page has no links to it then */
async function reachTemporal(
  home: string,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<TemporalConnection | undefined> {
  const { connect } = await import('../../temporal/connection.ts')
  try {
    return await connect(home, {
      log: (line) => terminal.say(line),
      onFault: (fault) => terminal.say(fault.message),
      signal,
    })
  } catch (error) {
    if (!signal.aborted) terminal.say(`Without the Temporal UI: ${reasonOf(error)}`)
    return undefined
  }
}

/** Undefined for a server of which only its operator knows where its UI is. */
function placeOf({ uiUrl, namespace, isOwn }: TemporalConnection): TemporalPlace | undefined {
  return uiUrl === undefined ? undefined : { url: uiUrl, namespace, isOwn }
}

function openBrowser(address: string): void {
  const command = process.platform === 'darwin' ? 'open' : 'xdg-open'
  // Without a desktop there is no browser; the address is on the screen.
  spawn(command, [address], { detached: true, stdio: 'ignore' })
    .on('error', () => undefined)
    .unref()
}
