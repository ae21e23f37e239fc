/**
 * A reporter for vitest: how long each test file took, hooks included, which its JSON report leaves out, and the
 * processor time that `test/support/cpu-time.ts` measured.
 *
 * Written as JSON, `[file, milliseconds, milliseconds of processors][]`, where `PERDURE_FILE_TIMES` says.
 */
import { writeFileSync } from 'node:fs'
import type { Reporter, TestModule } from 'vitest/node'

export default class FileTimes implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const place = process.env.PERDURE_FILE_TIMES
    if (place === undefined) return
    const times = modules.map((module) => [
      module.relativeModuleId,
      module.diagnostic().duration,
      module.meta().cpuMs ?? 0,
    ])
    writeFileSync(place, JSON.stringify(times))
  }
}
