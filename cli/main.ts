/**
 * Entry of the command `perdure`: importing this module runs it.
 *
 * Invariants
 * - The exit code is set, and the process ends once nothing is left to do, so that what is written reaches its reader.
 * - A module of the user ends with the command, whatever timers and connections it has left.
 * - This module handles signals from its first line to its last; before that the launcher does.
 */

import { hasModuleCode } from '../machine/modules/module-code.ts'
import { settleProxyVariables } from '../machine/network/proxy.ts'
import { runCommandLine } from './program.ts'
import { endUnlessWatched } from './terminal/interrupt.ts'
import { codeWithOutput, guardOutput } from './terminal/output.ts'

endUnlessWatched()
guardOutput()
settleProxyVariables(process.env)
process.exitCode = codeWithOutput(await runCommandLine(process.argv.slice(2)))
if (hasModuleCode()) {
  await Promise.all([process.stdout, process.stderr].map(written))
  process.exit()
}
// Left to itself, Node gives the signals back first and takes down its parts after: one that came between would end the
// process as if no one had listened.
process.once('beforeExit', () => process.exit())

/** Settles when a stream has passed on what was written to it before, or cannot. */
function written(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    stream.write('', () => resolve())
  })
}
