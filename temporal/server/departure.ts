/**
 * Departure: the servers that this process leaves running when it exits before it could close them.
 *
 * Invariants
 * - However a process exits, it takes along the server that it alone uses; only SIGKILL leaves one to the next user.
 *
 * An exiting process can wait for nothing, so the server is killed: its file is as safe from that as from any crash.
 */

/** Functions that run at an exit, without waiting. */
const departures = new Set<() => void>()

/** Has something done if the process exits. @returns takes it back */
export function atExit(leave: () => void): () => void {
  // Before the listener that replaces a process whose threads still compute.
  if (departures.size === 0) process.prependListener('exit', departAll)
  departures.add(leave)
  return () => {
    departures.delete(leave)
    if (departures.size === 0) process.off('exit', departAll)
  }
}

function departAll(): void {
  for (const leave of departures) {
    try {
      leave()
    } catch (error) {
      // The exit continues, and what it left can be named at least.
      process.stderr.write(`error: ${String(error)}\n`)
    }
  }
}
