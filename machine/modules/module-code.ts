/**
 * Code of modules of the user, while it runs in this process: whose it is, wherever it continues.
 *
 * Invariants
 * - [MODULE-CODE-1] It cannot end the process: `process.exit` and `process.abort` throw in it, in its timers and callbacks too.
 * - [MODULE-CODE-2] A rejection or exception that it leaves unhandled is given to its owner. Those of other code end the process as
 *   they do without this module.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { Fault } from '../../faults/fault.ts'
import { reasonOf } from '../../faults/reason.ts'

/** Who answers for code of a module. */
export interface CodeOwner {
  /** Names the code in messages, e.g. `the environment "maze"`. */
  readonly name: string
  /** Called with what the code threw where no caller waits for it. */
  onStray(thrown: unknown): void
}

/** Code of a module asked for what it may not do. */
class ModuleCodeFault extends Fault<'ends_process'> {
  override readonly name = 'ModuleCodeFault'
  protected static override readonly permanentKinds = 'all'
}

const owners = new AsyncLocalStorage<CodeOwner>()
let isWatched = false

/** Runs code of a module, with all that it starts, as its owner's. */
export function runAs<T>(owner: CodeOwner, work: () => T): T {
  if (!isWatched) watchProcess()
  isWatched = true
  return owners.run(owner, work)
}

/** Whether code of a module has run in this process: its timers may keep the process from ending. */
export function hasModuleCode(): boolean {
  return isWatched
}

/** The same object, whose methods run as its owner's. */
export function ownedBy<T extends object>(owner: CodeOwner, code: T): T {
  // Around an heir: a proxy of a frozen object could not return other functions than its own.
  return new Proxy(Object.create(code) as T, {
    get(_, key) {
      const value: unknown = runAs(owner, () => Reflect.get(code, key, code))
      if (typeof value !== 'function') return value
      return (...given: unknown[]) => runAs(owner, () => Reflect.apply(value, code, given))
    },
  })
}

/** An owner whose strays are lines on standard error. */
export function reportingOwner(name: string): CodeOwner {
  return { name, onStray: (thrown) => reportStray(name, thrown) }
}

export function reportStray(name: string, thrown: unknown): void {
  console.error(`${name} failed where no call waits for it: ${reasonOf(thrown)}`)
}

function watchProcess(): void {
  const { exit, abort } = process
  process.exit = (...given) => {
    refuseToEnd(`process.exit(${given.join()})`)
    // Node takes an argument that is undefined for exit code 0.
    return exit.apply(process, given)
  }
  process.abort = () => {
    refuseToEnd('process.abort()')
    return abort.call(process)
  }
  process.on('unhandledRejection', (reason) => {
    const owner = owners.getStore()
    if (owner !== undefined) owner.onStray(reason)
    else if (process.listenerCount('unhandledRejection') === 1)
      throw reason instanceof Error ? reason : new Error(`unhandled rejection: ${String(reason)}`)
  })
  process.on('uncaughtException', function onException(error) {
    const owner = owners.getStore()
    if (owner !== undefined) owner.onStray(error)
    else if (process.listenerCount('uncaughtException') === 1) {
      process.off('uncaughtException', onException)
      // Outside of this listener, so that the process or thread ends as it does without one.
      setImmediate(() => {
        throw error
      })
    }
  })
}

function refuseToEnd(call: string): void {
  const owner = owners.getStore()
  if (owner === undefined) return
  throw new ModuleCodeFault('ends_process', `${owner.name} called ${call}, and only a person ends a run`)
}
