/**
 * Entry of the command `perdure`: importing this module runs it.
 *
 * Invariants
 * - The exit code is set, never forced, so that what is written reaches its reader.
 */
import { runCommandLine } from './program.ts'

process.exitCode = await runCommandLine(process.argv.slice(2))
