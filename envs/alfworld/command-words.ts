/**
 * The words of commands: how a family of games, or a release of ALFWorld, has a player say what to do.
 *
 * ALFWorld 0.4 says `move mug 1 to desk 1` where 0.3 says `put mug 1 in/on desk 1`: each game file brings the words of its release.
 *
 * Invariants
 * - [COMMAND-WORDS-1] A command that is written is read as itself.
 * - [COMMAND-WORDS-2] The words of an official game are those of its own grammar; a command that it has no words for is refused by a message
 *   that names the releases.
 */

import { type GameSource, wordingsOf } from '../../worlds/text-adventure/game.ts'
import type { TextSymbol } from '../../worlds/text-adventure/symbol.ts'
import { EnvironmentFault } from '../contract/environment.ts'
import { inEngine } from './engine.ts'

/** The commands that an expert gives or understands, by the action that they have in ALFWorld's grammars. */
const actions = {
  go: 'GotoLocation',
  open: 'OpenObject',
  close: 'CloseObject',
  examine: 'examineReceptacle',
  take: 'PickupObject',
  put: 'PutObject',
  clean: 'CleanObject',
  heat: 'HeatObject',
  cool: 'CoolObject',
  use: 'ToggleObject',
  look: 'look',
  inventory: 'inventory',
  help: 'help',
} as const
export type CommandKind = keyof typeof actions
const kinds = Object.keys(actions) as CommandKind[]

/** A command with its slots, as in `take {o} from {r}`: `o` is a thing, `r` a place. */
type Templates = Readonly<Partial<Record<CommandKind, string>>>

/** The thing and the place that a command names. */
export interface CommandNames {
  readonly thing?: string | undefined
  readonly place?: string | undefined
}

export interface Command extends CommandNames {
  readonly kind: CommandKind
}

export class CommandWords {
  readonly #templates: Templates
  readonly #patterns: readonly (readonly [CommandKind, RegExp])[]

  constructor(templates: Templates) {
    this.#templates = templates
    this.#patterns = kinds.flatMap((kind) => {
      const template = templates[kind]
      return template === undefined ? [] : [[kind, patternOf(template)] as const]
    })
  }

  /** @throws EnvironmentFault bad_data where these games have no words for it */
  write(kind: CommandKind, names: CommandNames = {}): string {
    const written = this.#written(kind, names)
    if (written !== undefined) return written
    throw new EnvironmentFault(
      'bad_data',
      `the game's grammar has no words for "${actions[kind]}" that the expert knows; it plays games of ALFWorld 0.3 and 0.4. Set demonstrations to "walkthrough", or get the games of release 0.4.2`,
    )
  }

  /** Reads a command; undefined for a text that is not one of these. */
  read(command: string): Command | undefined {
    for (const [kind, pattern] of this.#patterns) {
      const found = pattern.exec(command)
      if (found !== null) return { kind, thing: found.groups?.o, place: found.groups?.r }
    }
    return undefined
  }

  /** All commands; `NAME` and `PLACE` mark where names go. */
  list(): readonly string[] {
    return kinds.flatMap((kind) => {
      const place = kind === 'examine' ? 'NAME' : 'PLACE'
      return this.#written(kind, { thing: kind === 'use' ? 'LAMP' : 'THING', place }) ?? []
    })
  }

  #written(kind: CommandKind, { thing = '', place = '' }: CommandNames): string | undefined {
    return this.#templates[kind]?.replaceAll(/\{[or]\}/g, (slot) => (slot === '{o}' ? thing : place))
  }
}

/** The words of the grammar that an official game comes with. */
export function commandWordsOf(source: GameSource): CommandWords {
  const wordings = inEngine(() => wordingsOf(source))
  const templates = kinds.flatMap((kind) => {
    const template = templateOf(wordings.get(actions[kind].toLowerCase())?.template ?? [])
    return template === undefined ? [] : [[kind, template] as const]
  })
  return new CommandWords(Object.fromEntries(templates))
}

/** Undefined for words about anything but one thing and one place. */
function templateOf(symbols: readonly TextSymbol[]): string | undefined {
  const parts = symbols.map(partOf)
  const slots = parts.filter((part) => part === '{o}' || part === '{r}')
  const isRead = parts.length > 0 && !parts.includes(undefined) && new Set(slots).size === slots.length
  return isRead ? parts.join('') : undefined
}

/** A symbol as a part of a template; undefined for one that is neither text nor a thing or place. */
function partOf(symbol: TextSymbol): string | undefined {
  if (symbol.kind === 'list' || symbol.kind === 'each') return partOf(symbol.symbol)
  if (symbol.kind === 'text') return symbol.text
  const name = symbol.kind === 'value' && symbol.value.kind === 'object' ? symbol.value.name : ''
  return name.startsWith('o') ? '{o}' : name.startsWith('r') ? '{r}' : undefined
}

function patternOf(template: string): RegExp {
  const parts = template
    .split(/(\{[or]\})/)
    .map((part) =>
      /^\{[or]\}$/.test(part) ? `(?<${part[1]}>[a-z]+ \\d+)` : part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'),
    )
  return new RegExp(`^${parts.join('')}$`)
}
