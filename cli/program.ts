/**
 * The command line: all commands in one program.
 *
 * Invariants
 * - Exit codes: 0 done, 1 the run or the check failed, 2 the call was wrong, 130 interrupted and resumable.
 * - No flag, argument or variable of a flag takes an empty text for a value: `--home ''` is a wrong call.
 * - Modules that are slow to load are loaded by the command that needs them.
 * - Every command with an argument that names a run looks for it first; one that reports an unknown run starts no server.
 */
import { Command } from 'commander'
import { parseWorkflowId } from '../identity/identity.ts'
import { packageVersion } from '../machine/processes/build-name.ts'
import { nameHome, withTypedCommands } from '../machine/processes/typed-command.ts'
import { cleanCommand } from './machine/clean.ts'
import { codecServerCommand } from './machine/codec-server.ts'
import { diskCommand } from './machine/disk.ts'
import { doctorCommand } from './machine/doctor.ts'
import { engineCommand } from './machine/engine.ts'
import { fleetCommand } from './machine/fleet.ts'
import { serveCommand } from './machine/serve.ts'
import { trainerCommand } from './machine/trainer.ts'
import { uiCommand } from './machine/ui.ts'
import { workerCommand } from './machine/worker.ts'
import { branchCommand } from './results/branch.ts'
import { compareCommand } from './results/compare.ts'
import { evaluateCommand } from './results/evaluate.ts'
import { experimentCommand } from './results/experiment.ts'
import { exportCommand } from './results/export.ts'
import { metricsCommand } from './results/metrics.ts'
import { promoteCommand } from './results/promote.ts'
import { refereeCommand } from './results/referee.ts'
import { reportCommand } from './results/report.ts'
import { scheduleCommand } from './results/schedule.ts'
import { requireRun } from './runs/run-record.ts'
import { runsCommand, statusCommand } from './runs/status.ts'
import { steerCommands } from './runs/steer.ts'
import { resumeCommand, trainCommand } from './runs/train.ts'
import { dataCommand } from './tasks/data.ts'
import { envCommand } from './tasks/env.ts'
import { exitCodeOf, explain } from './terminal/failure.ts'
import { homeToName, type RunVersion, refuseEmptyValues, runName } from './terminal/options.ts'

// Commands that are added as a whole take over neither the way they end nor where they write.
function adopt(parent: Command, command: Command): void {
  command.copyInheritedSettings(parent)
  refuseEmptyValues(command)
  for (const child of command.commands) adopt(command, child)
}

/** The program with all its commands; it throws instead of ending the process. */
export function createProgram(): Command {
  const program = new Command('perdure')
    .description('Trains LLM agents by reinforcement learning inside durable workflows.')
    .version(packageVersion())
    // `branch` has a --version of its own.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => process.stdout.write(withTypedCommands(text)),
      writeErr: (text) => process.stderr.write(withTypedCommands(text)),
    })
    .showHelpAfterError('Try --help for the allowed flags.')
    .addHelpText(
      'after',
      `
Examples:
  $ perdure train                      train on built-in household games
  $ perdure train --dry-run            what that would do
  $ perdure resume RUN                 continue after a crash or Ctrl-C
  $ perdure runs                       what there is

Exit codes: 0 done, 1 failed, 2 the call was wrong, 130 interrupted and resumable.`,
    )
  const commands = [
    trainCommand(),
    resumeCommand(),
    statusCommand(),
    runsCommand(),
    metricsCommand(),
    compareCommand(),
    experimentCommand(),
    refereeCommand(),
    ...steerCommands(),
    evaluateCommand(),
    scheduleCommand(),
    promoteCommand(),
    branchCommand(),
    exportCommand(),
    envCommand(),
    dataCommand(),
    engineCommand(),
    workerCommand(),
    fleetCommand(),
    serveCommand(),
    trainerCommand(),
    uiCommand(),
    reportCommand(),
    codecServerCommand(),
    diskCommand(),
    cleanCommand(),
    doctorCommand(),
  ]
  for (const command of commands) {
    adopt(program, command)
    program.addCommand(command)
  }
  return program
}

/**
 * Runs one call.
 * @param words what follows the program's name
 * @returns the exit code
 */
export async function runCommandLine(words: readonly string[]): Promise<number> {
  try {
    const program = createProgram()
    program.hook('preAction', async (_, command) => {
      nameHomeOf(program, command)
      await requireNamedRun(command)
    })
    await program.parseAsync([...words], { from: 'user' })
    return Number(process.exitCode ?? 0)
  } catch (error) {
    const message = explain(error, (process.env.PERDURE_DEBUG ?? '') !== '')
    if (message !== '') process.stderr.write(withTypedCommands(`error: ${message}\n`))
    return exitCodeOf(error)
  } finally {
    // The home is the call's, and no later text's of this process.
    nameHome(undefined)
  }
}

/** Advice names the home of the call, so that its commands act on the same one. */
function nameHomeOf(program: Command, command: Command): void {
  const { home } = command.opts<{ readonly home?: string }>()
  const directory = home === undefined ? undefined : homeToName(home)
  nameHome(directory === undefined ? undefined : { directory, takers: homeTakers(program) })
}

function homeTakers(of: Command, parents = ''): readonly string[] {
  return of.commands.flatMap((command) => {
    const name = `${parents}${command.name()}`
    const own = command.options.some(({ long }) => long === '--home') ? [name] : []
    return [...own, ...homeTakers(command, `${name} `)]
  })
}

/** The run's name in an argument, by the argument's name. */
const runOf: Readonly<Record<string, (given: never) => string>> = {
  run: (given: string) => given,
  'run[@version]': ({ run }: RunVersion) => run,
  'other[@version]': ({ run }: RunVersion) => run,
  // The UI shows episode ids that may begin with the name of a home.
  episode: (given: string) => runName(parseWorkflowId(given).id.split('/')[0] ?? ''),
}

/** @throws CallFault where the home of the call has no run of the name that it gives */
export async function requireNamedRun(command: Command): Promise<void> {
  const { home } = command.opts<{ readonly home?: string }>()
  for (const [at, argument] of command.registeredArguments.entries()) {
    const given = command.processedArgs[at]
    const name = given === undefined ? undefined : runOf[argument.name()]?.(given as never)
    if (home !== undefined && name !== undefined) await requireRun(home, name)
  }
}
