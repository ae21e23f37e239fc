/**
 * The program of a janitor; see `janitor.ts`.
 *
 * Arguments: the owner whose containers it removes, and the engine's address where it is not the default one.
 *
 * Invariants
 * - It removes what carries the owner's label and nothing else, and only after the owner has ended.
 * - It ends by itself: when nothing has turned up for a while, or its time is over.
 */
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { farewell } from './janitor.ts'

/** The engine still makes what it was asked for last; on a busy machine that takes seconds. */
const quietMs = 15_000
const longestMs = 120_000
const periodMs = 500

const [owner = '', address] = process.argv.slice(2)
if ((await text(process.stdin)) !== farewell) {
  const { connectEngine } = await import('../engine.ts')
  const { removeContainersOf } = await import('./reaper.ts')
  const began = Date.now()
  let active = began
  while (Date.now() - active < quietMs && Date.now() - began < longestMs) {
    try {
      if ((await removeContainersOf(await connectEngine(address), owner)) > 0) active = Date.now()
    } catch {
      // An engine that does not answer is asked again; there is none to tell.
      active = Date.now()
    }
    await delay(periodMs)
  }
}
process.exit()
