/**
 * `env serve`: tasks behind AgentRL's protocol, until Ctrl-C.
 *
 * Invariants
 * - The address is printed once it answers; with `--json` as the first and only line of standard output.
 */
import { once } from 'node:events'
import { Command } from 'commander'
import type { Task } from '../../envs/contract/environment.ts'
import { loopback } from '../../machine/network/listening.ts'
import { CallFault } from '../terminal/failure.ts'
import { watchInterrupts } from '../terminal/interrupt.ts'
import { homeOption, jsonOption, portNumber, positiveInteger } from '../terminal/options.ts'
import { openTerminal } from '../terminal/terminal.ts'
import { taskAt } from './task-address.ts'
import { openTask } from './task-flags.ts'

interface ServeFlags {
  readonly split?: string
  readonly size: number
  readonly places: number
  readonly turnLimit?: number
  readonly host: string
  readonly port: number
  readonly home: string
  readonly json: boolean
}

/** `perdure env serve [TASK…]`. */
export function environmentServeCommand(): Command {
  return new Command('serve')
    .description('serve tasks, and those of workers, by the protocol of AgentRL, until Ctrl-C')
    .argument('[task...]', 'names, paths or addresses of tasks; without one only those of agentrl-worker')
    .option('--split <name>', 'split of every task; its first by default')
    .option('--size <n>', 'instances of a task that are offered', positiveInteger, 1000)
    .option('--places <n>', 'sessions of a task at once', positiveInteger, 64)
    .option('--turn-limit <n>', "turns of a session; the task's own by default", positiveInteger)
    .option('--port <n>', 'port; any free one by default', portNumber, 0)
    .option('--host <host>', 'where to listen; another than loopback needs PERDURE_ENV_TOKEN', loopback)
    .addOption(homeOption())
    .addOption(jsonOption())
    .addHelpText('after', '\nExample:\n  $ perdure env serve alfworld kg --split test --size 100 --port 5020')
    .action(serve)
}

async function serve(addresses: readonly string[], flags: ServeFlags): Promise<void> {
  const { serveEnvironments } = await import('../../client/environment-server/environment-server.ts')
  const terminal = openTerminal({ json: flags.json })
  using interrupt = watchInterrupts(() => undefined)
  await using closing = new AsyncDisposableStack()
  const tasks = []
  for (const address of addresses) {
    const task = closing.adopt(await openTask(address, flags), (opened) => opened.close())
    const { name: split, size } = splitOf(address, task, flags.split)
    const { turnLimit, turnLimitCompletes } = await taskAt(address)
    const turns = { turnLimit: flags.turnLimit ?? turnLimit, turnLimitCompletes }
    tasks.push({ name: nameOf(address), task, split, size: Math.min(size, flags.size), ...turns })
  }
  const token = process.env.PERDURE_ENV_TOKEN
  const { host, port, places } = flags
  const server = closing.adopt(
    await serveEnvironments({ tasks, places, host, port, token: token === '' ? undefined : token }),
    (served) => served.close(),
  )
  const names = tasks.map(({ name, split, size }) => `${name} (${split}, ${size})`).join(', ')
  terminal.report({ url: server.url }, [`${names || 'Every task of a worker'} is served at ${server.url}`])
  terminal.say('Ctrl-C ends it.')
  if (!interrupt.signal.aborted) await once(interrupt.signal, 'abort')
}

function splitOf(address: string, { splits }: Task, wanted: string | undefined) {
  const split = wanted === undefined ? splits[0] : splits.find(({ name }) => name === wanted)
  if (split !== undefined) return split
  throw new CallFault(
    'bad_flag',
    `--split: ${address} has no split "${wanted}": use ${splits.map(({ name }) => name).join(', ')}`,
  )
}

/** @example nameOf('./games#maze') // 'maze', and of 'alfworld' 'alfworld' */
function nameOf(address: string): string {
  return /([^/#]+)\/*$/.exec(address)?.[1]?.replace(/\.[cm]?[jt]s$/, '') ?? address
}
