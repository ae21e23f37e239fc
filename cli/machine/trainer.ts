/**
 * `trainer check`: whether a program or a module can be the trainer of a run.
 *
 * Invariants
 * - It needs no home and starts nothing but the trainer.
 */
import { Command, InvalidArgumentError } from 'commander'
import { moduleAt } from '../../config/files/paths.ts'
import { CallFault, exitCodes } from '../terminal/failure.ts'
import { jsonOption, positiveInteger } from '../terminal/options.ts'
import { openTerminal } from '../terminal/terminal.ts'

interface CheckOptions {
  readonly module?: string
  readonly stall: number
  readonly only?: string
  readonly json?: boolean
}

/** `perdure trainer`. */
export function trainerCommand(): Command {
  const trainer = new Command('trainer')
    .description('trainers of your own: check a program or a module')
    .enablePositionalOptions()
  trainer
    .command('check')
    .summary('check a trainer against the contract of trainers')
    .description(
      'Trains small batches by a trainer of your own and by the embedded one, and compares what they write, item by item.',
    )
    // Words gather here, since each is checked by itself.
    .argument(
      '[command...]',
      'the program with its arguments, as in policy.trainer',
      (word, before: readonly string[] = []) => [...before, word],
    )
    .option('--module <module>', 'a module or package, in the place of a program', modulePath)
    .option('--only <words>', 'try only items with these words in their name')
    .option('--stall <seconds>', 'longest silence of the trainer', positiveInteger, 120)
    .addOption(jsonOption())
    .passThroughOptions()
    .addHelpText(
      'after',
      '\nExamples:\n  $ perdure trainer check python3 -m perdure_trainer\n  $ perdure trainer check --json ./my-trainer\n  $ perdure trainer check --module ./my-trainer.ts',
    )
    .action(check)
  return trainer
}

function modulePath(address: string): string {
  return moduleAt(address, process.cwd(), (allowed) => {
    throw new InvalidArgumentError(`Expected ${allowed}.`)
  })
}

async function check(
  command: readonly string[] = [],
  { module, stall, only, json = false }: CheckOptions,
): Promise<void> {
  if ((module === undefined) === (command.length === 0))
    throw new CallFault('bad_argument', 'give a program with its arguments, or a module by --module')
  const { checkTrainer } = await import('../../client/trainer-check/trainer-check.ts')
  const terminal = openTerminal({ json })
  const checks = await checkTrainer({
    trainer: module ?? command,
    stallMs: stall * 1000,
    only,
    onCheck: ({ item, ok, detail }) => terminal.say(`${ok ? 'ok    ' : 'FAILED'} ${item}: ${detail}`),
  })
  const failed = checks.filter(({ ok }) => !ok).length
  terminal.report({ ...(module === undefined ? { command } : { module }), ok: failed === 0, checks }, [
    failed === 0
      ? `All ${checks.length} items are kept.`
      : `${failed} of ${checks.length} items are not kept.`,
  ])
  if (failed > 0) process.exitCode = exitCodes.failed
}
