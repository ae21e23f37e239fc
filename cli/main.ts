/**
 * Entry of the command `perdure`: importing this module runs it.
 *
 * Invariants
 * - The exit code is set, never forced, so that what is written reaches its reader.
 * - What a signal means is decided here from the first moment on, and by the launcher before that.
 */
import { endUnlessWatched } from './interrupt.ts'
import { codeWithOutput, guardOutput } from './output.ts'
import { runCommandLine } from './program.ts'

endUnlessWatched()
guardOutput()
process.exitCode = codeWithOutput(await runCommandLine(process.argv.slice(2)))
