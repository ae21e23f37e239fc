/**
 * `doctor`: checks whether this machine can run Perdure and whether a home is in order. It says what to do where they are
 * not, and with `--repair` does it.
 *
 * Invariants
 * - Without `--repair` no change is kept, and no server is started.
 * - A repair moves what is damaged aside and never deletes it.
 * - Exit code 1 exactly when something is wrong; what is merely missing or left over is a warning.
 */
import { resolve } from 'node:path'
import { Command } from 'commander'
import { checkLines } from '../doctor/check.ts'
import { type ReportOptions, reporting } from '../terminal/options.ts'
import { openTerminal } from '../terminal/terminal.ts'

interface DoctorOptions extends ReportOptions {
  readonly repair?: boolean
}

/** `perdure doctor`. */
export function doctorCommand(): Command {
  return reporting(
    new Command('doctor')
      .summary('check this machine and a home directory, and repair the home')
      .description(
        'Checks Node, the machine, Temporal, onnxruntime, the disk and the ports; and of the home directory the store,\n' +
          "the server's file, checkpoints, and what processes that died have left.",
      )
      .option('--repair', 'repair the home where possible; damaged files are moved aside, never deleted'),
    ['doctor', 'doctor --repair --home /data/perdure', 'doctor --json'],
  ).action(async (options: DoctorOptions) => {
    const terminal = openTerminal(options)
    const home = resolve(options.home)
    const { examineMachine } = await import('../doctor/machine-checks.ts')
    const { examineHome } = await import('../doctor/home-checks.ts')
    // The home is examined first: its repair may put right what a machine check would report.
    const inHome = await examineHome(home, { repair: options.repair === true })
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
