/** Finds or fetches the `temporal` binary and prints its path; the set-up's last step. */
import { TemporalFault } from '../temporal/server/fault.ts'
import { obtainTemporalBinary } from '../temporal/server/startup/fetch-binary.ts'

try {
  const binary = await obtainTemporalBinary((line) => console.error(`Set-up: ${line}`))
  console.log(binary.path)
} catch (error) {
  if (!(error instanceof TemporalFault)) throw error
  console.error(`\n${error.message}`)
  process.exitCode = 1
}
