/**
 * A thread that shells live in: virtual machines of several sessions, one script at a time.
 *
 * Invariants
 * - It is asked for one thing at a time: a script has ended when the next one begins.
 * - The thread's clock and dice belong to the script that runs: `Date` and `Math.random` are replaced before
 *   anything else is loaded.
 */
import { serveCalls } from '../../../machine/modules/thread-answers.ts'
import type { AnsweringMethods } from '../../threads/thread.ts'
import type { ShellResult, ShellSnapshot } from './shell.ts'
import type { World } from './world.ts'

let now = 0
let random: () => number = () => 0.5

const RealDate = Date
class ShellDate extends RealDate {
  constructor(...given: unknown[]) {
    if (given.length === 0) super(now)
    else super(...(given as [number]))
  }

  static override now(): number {
    return now
  }
}
globalThis.Date = ShellDate as DateConstructor
Math.random = () => random()

/** A request to the thread; `shell` is the machine's number. */
export type ShellRequest =
  | { readonly kind: 'open'; readonly shell: number; readonly world: World; readonly seed: number }
  | { readonly kind: 'run'; readonly shell: number; readonly script: string }
  | { readonly kind: 'snapshot'; readonly shell: number }
  | { readonly kind: 'close'; readonly shell: number }

/** An answer of the thread. */
export type ShellReply =
  | { readonly kind: 'opened' }
  | { readonly kind: 'ran'; readonly result: ShellResult }
  | { readonly kind: 'found'; readonly snapshot: ShellSnapshot }
  | { readonly kind: 'closed' }

// Loaded after the clock is in place.
const { VirtualShell } = await import('./shell.ts')
const shells = new Map<number, InstanceType<typeof VirtualShell>>()
serveCalls<AnsweringMethods<ShellRequest, ShellReply>>({ answer })

async function answer(request: ShellRequest): Promise<ShellReply> {
  if (request.kind === 'open') {
    const surroundings = {
      set(time: number, draw: () => number) {
        now = time
        random = draw
      },
    }
    shells.set(request.shell, new VirtualShell(request.world, request.seed, surroundings))
    return { kind: 'opened' }
  }
  if (request.kind === 'close') {
    shells.delete(request.shell)
    return { kind: 'closed' }
  }
  const shell = shells.get(request.shell)
  if (shell === undefined) throw new RangeError(`there is no shell ${request.shell} in this thread`)
  return request.kind === 'run'
    ? { kind: 'ran', result: await shell.run(request.script) }
    : { kind: 'found', snapshot: await shell.snapshot() }
}
