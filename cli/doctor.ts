/**
 * `doctor`: whether this machine can run Perdure and a home is in order, what to do where not, and with `--mend`
 * doing it.
 *
 * Invariants
 * - Without `--mend` nothing changes that stays, and no server is started.
 * - Mending moves what is damaged aside and never deletes it.
 * - Exit code 1 exactly when something is wrong; what is merely missing or left over is a warning.
 */
import { resolve } from 'node:path'
import { Command } from 'commander'
import { checkLines } from './doctor/check.ts'
import { homeOption, jsonOption, type ReportOptions } from './options.ts'
import { openTerminal } from './terminal.ts'

interface DoctorOptions extends ReportOptions {
  readonly mend?: boolean
}

/** `perdure doctor`. */
export function doctorCommand(): Command {
  return new Command('doctor')
    .summary('check this machine and a home directory, and mend what can be mended')
    .description(
      'Checks Node, the machine, Temporal, onnxruntime, the disk and the ports; and of the home directory the store,\n' +
        "the server's file, checkpoints, and what processes that died have left.",
    )
    .option('--mend', 'put right what can be put right; what is damaged is moved aside, never deleted')
    .addOption(homeOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      '\nExamples:\n  $ perdure doctor\n  $ perdure doctor --mend --home /data/perdure\n  $ perdure doctor --json',
    )
    .action(async (options: DoctorOptions) => {
      const terminal = openTerminal(options)
      const home = resolve(options.home)
      const { examineMachine } = await import('./doctor/machine-checks.ts')
      const { examineHome } = await import('./doctor/home-checks.ts')
      // What the home lacks may be what the machine is then asked for.
      const inHome = await examineHome(home, { mend: options.mend === true })
      const checks = [...(await examineMachine(home)), ...inHome]
      const ok = checks.every(({ state }) => state !== 'wrong')
      terminal.report({ ok, checks }, [
        ...checkLines(checks),
        '',
        ok ? 'Perdure can run here.' : 'Perdure cannot run here yet.',
      ])
      if (!ok) process.exitCode = 1
    })
}
