/**
 * Measures the processor time of a test file, its hooks and its child processes included, in the file's `meta`, for the
 * list of the slowest. On a busy machine the time on the clock says little.
 *
 * Invariants
 * - Children count once they have ended and their parent has waited for them; on Linux only.
 * - A process that outlives its parent counts for no file.
 */
import { readFileSync } from 'node:fs'
import { afterAll } from 'vitest'

declare module 'vitest' {
  interface TaskMeta {
    cpuMs?: number
  }
}

/** Linux counts in hundredths of a second here, on every machine. */
const msPerTick = 10

const before = cpuMs()
// Hooks run in reverse: this one after those of the file.
// biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern which fixtures a hook wants
afterAll(({}, suite) => {
  suite.file.meta.cpuMs = cpuMs() - before
})

function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000 + childrenMs()
}

function childrenMs(): number {
  if (process.platform !== 'linux') return 0
  const stat = readFileSync('/proc/self/stat', 'utf8')
  // The name, in brackets, may hold spaces; `cutime` and `cstime` are the 14th and 15th fields after it.
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(13, 15)
  return msPerTick * (Number(user) + Number(system))
}
