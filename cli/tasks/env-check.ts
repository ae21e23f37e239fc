/**
 * `env check`: whether a task keeps the contract of environments, wherever it comes from.
 *
 * Invariants
 * - It reports every item; exit code 1 means that one is not kept.
 */
import { Command, Option } from 'commander'
import { type AgentConfig, agentRewards } from '../../config/schema/agent-schema.ts'
import { isRemoteAddress, readRemoteAddress } from '../../machine/network/remote-address.ts'
import type { JsonObject } from '../../messages/message.ts'
import { exitCodes } from '../terminal/failure.ts'
import { jsonOption, shellPath } from '../terminal/options.ts'
import { openTerminal } from '../terminal/terminal.ts'
import { taskAt } from './task-address.ts'
import { openTask, type TaskFlags, withTaskFlags } from './task-flags.ts'

interface CheckFlags extends TaskFlags {
  readonly only?: string
  readonly agent?: readonly string[]
  readonly reward: AgentConfig['reward']
  readonly policy?: string
  readonly json?: boolean
}

/** `perdure env check TASK`. */
export function environmentCheckCommand(): Command {
  return withTaskFlags(new Command('check'))
    .description('check a task against the contract of environments, item by item')
    .option('--only <words>', 'try only items with these words in their name')
    .option(
      '--agent <command>',
      'the program that plays the task: it is killed at every turn, and has to continue',
      commandWords,
    )
    .addOption(
      new Option('--reward <source>', 'where the reward of the agent comes from')
        .choices(agentRewards)
        .default('grader'),
    )
    .option('--policy <dir>', 'checkpoint that answers the agent; untrained weights by default', shellPath)
    .addOption(jsonOption())
    .addHelpText(
      'after',
      "\nExamples:\n  $ perdure env check ./guess-number\n  $ perdure env check openenv+http://127.0.0.1:8000\n  $ perdure env check harbor+./tasks\n  $ perdure env check ./my-questions --agent 'python3 ./agent.py'",
    )
    .action(check)
}

async function check(task: string, flags: CheckFlags): Promise<void> {
  const { checkEnvironment } = await import('../../client/environment-check/environment-check.ts')
  const terminal = openTerminal({ json: flags.json ?? false })
  const opened = (address: string, more: JsonObject = {}) =>
    openTask(address, { ...flags, settings: { ...flags.settings, ...more } })
  const checks = await checkEnvironment({
    open: (more) => opened(task, more),
    server: isRemoteAddress(task) ? serverOf(task, opened) : undefined,
    agent:
      flags.agent === undefined
        ? undefined
        : {
            definition: await taskAt(task, flags.settings),
            command: flags.agent,
            reward: flags.reward,
            policy: flags.policy,
          },
    only: flags.only,
    onCheck: ({ item, ok, detail }) => terminal.say(`${ok ? 'ok    ' : 'FAILED'} ${item}: ${detail}`),
  })
  const failed = checks.filter(({ ok }) => !ok).length
  terminal.report({ task, ok: failed === 0, checks }, [
    failed === 0
      ? `All ${checks.length} items are kept.`
      : `${failed} of ${checks.length} items are not kept.`,
  ])
  if (failed > 0) process.exitCode = exitCodes.failed
}

/** Words as a shell reads them: what is in quotes is one. */
function commandWords(command: string): string[] {
  const words = [...command.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)]
  return words.map(([, single, double, bare]) => single ?? double ?? bare ?? '')
}

/** A server with a certificate is reached under its own name alone, so the way to it cannot be cut. */
function serverOf(task: string, opened: (address: string, more: JsonObject) => ReturnType<typeof openTask>) {
  const { url } = readRemoteAddress(task)
  if (url.protocol !== 'http:' || url.hostname.includes('$')) return undefined
  return {
    host: url.hostname,
    port: Number(url.port || 80),
    openAt: (port: number, settings: JsonObject) =>
      opened(task.replace(url.host, `127.0.0.1:${port}`), settings),
  }
}
