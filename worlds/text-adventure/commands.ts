/**
 * The commands that can be given now, in order.
 *
 * Invariants
 * - A command is listed once and exactly while some action behind it is possible.
 */
import type { Instance } from './world.ts'

interface Command {
  readonly text: string
  /** Possible actions behind it, the first to have become possible first. */
  readonly actions: Instance[]
  listed: boolean
  touched: boolean
}

export class Commands {
  readonly #byText = new Map<string, Command>()
  readonly #byInstance = new Map<Instance, Command>()
  readonly #textOf: (instance: Instance) => string
  #touched: Command[] = []
  #listed: readonly string[] = []

  constructor(textOf: (instance: Instance) => string) {
    this.#textOf = textOf
  }

  /** Takes note that an action became possible or impossible. */
  change(instance: Instance, possible: boolean): void {
    const command = this.#commandOf(instance)
    if (possible) command.actions.push(instance)
    else command.actions.splice(command.actions.indexOf(instance), 1)
    if (command.touched) return
    command.touched = true
    this.#touched.push(command)
  }

  /** The action that a command takes now. */
  action(text: string): Instance | undefined {
    return this.#byText.get(text)?.actions[0]
  }

  /** All commands of now, sorted; the same array while nothing changes. */
  list(): readonly string[] {
    if (this.#touched.length === 0) return this.#listed
    const added: string[] = []
    let removed = false
    for (const command of this.#touched) {
      command.touched = false
      const possible = command.actions.length > 0
      if (possible && !command.listed) added.push(command.text)
      if (!possible && command.listed) removed = true
      command.listed = possible
    }
    this.#touched = []
    if (added.length === 0 && !removed) return this.#listed
    const kept = removed ? this.#listed.filter((text) => this.#byText.get(text)?.listed) : this.#listed
    this.#listed = added.length === 0 ? kept : merge(kept, added.sort())
    return this.#listed
  }

  #commandOf(instance: Instance): Command {
    let command = this.#byInstance.get(instance)
    if (command === undefined) {
      const text = this.#textOf(instance)
      command = this.#byText.get(text)
      if (command === undefined) {
        command = { text, actions: [], listed: false, touched: false }
        this.#byText.set(text, command)
      }
      this.#byInstance.set(instance, command)
    }
    return command
  }
}

function merge(left: readonly string[], right: readonly string[]): string[] {
  const merged: string[] = []
  let at = 0
  for (const text of right) {
    while (at < left.length && (left[at] as string) < text) merged.push(left[at++] as string)
    merged.push(text)
  }
  while (at < left.length) merged.push(left[at++] as string)
  return merged
}
