/**
 * That a task folder cannot be played here.
 *
 * Invariants
 * - It names the file, its line where there is one, the value there and the allowed ones.
 */
import { EnvironmentFault } from '../../contract/environment.ts'

/** @param line from 1; undefined where the file as a whole is meant */
export function refusal(
  file: string,
  line: number | undefined,
  reason: string,
  cause?: unknown,
): EnvironmentFault {
  const place = line === undefined ? file : `${file}:${line}`
  return new EnvironmentFault('bad_data', `${place}: ${reason}`, { cause })
}
