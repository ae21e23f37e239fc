/**
 * Imported first by a process that runs the tests of an environment: its modules find Perdure.
 *
 * Invariants
 * - Importing it is all there is to do.
 */
import { shareThisPerdure } from './sharing.ts'

shareThisPerdure()
