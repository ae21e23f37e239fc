/**
 * Commands as they are typed here: `npx perdure` in a checkout and where it is a dependency, `perdure` where the shell
 * finds it; with `--home` where this process works on another home than the default one.
 *
 * Invariants
 * - [TYPED-1] Every command in a text for people passes here, so that it can be copied and works.
 * - [TYPED-2] A command in backticks acts on the home of this process. A command that takes no `--home`, or names one, stays as it is.
 * - Programs that a package runner puts on the PATH are there for its own processes, not for the person's shell.
 */
import { realpathSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { packageRoot } from '../files/folder.ts'
import { shownLine } from '../files/shown-text.ts'

/** The home of this process, where a command must name it. */
export interface NamedHome {
  readonly directory: string
  /** Commands that take `--home`, those of commands with their parent: `env play`. */
  readonly takers: readonly string[]
}

let named: NamedHome | undefined

/** From here on commands name this home; undefined: the default one, which goes without saying. */
export function nameHome(home: NamedHome | undefined): void {
  named = home
}

/** @example commandName() // 'npx perdure' */
export function commandName(
  environment: Readonly<Record<string, string | undefined>> = process.env,
  root: string = packageRoot,
): string {
  const hasRunner = environment.npm_command !== undefined || environment.npm_execpath !== undefined
  const own = realPath(join(root, 'bin', 'perdure.mjs'))
  const folders = (environment.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  const first = folders.map((folder) => realPath(join(folder, 'perdure'))).find((file) => file !== undefined)
  return !hasRunner && first !== undefined && first === own ? 'perdure' : 'npx perdure'
}

/** The words of a command as one text, each quoted where a shell needs it. @example typedWords(['eval', 'it']) // 'eval it' */
export function typedWords(words: readonly string[]): string {
  return words.map((word) => (/^[\w./:@=-]+$/.test(word) ? word : codedWord(word))).join(' ')
}

/** The flag that a command needs to act on a home; empty for the default one. @example homeFlag('/data') // ' --home /data' */
export function homeFlag(directory: string | undefined = named?.directory): string {
  return directory === undefined ? '' : ` --home ${typedWords([directory])}`
}

/** The same text with its commands as they are typed here; a command begins a line, or follows `$`, `|`, a backtick or "Usage:". */
export function withTypedCommands(
  text: string,
  name: string = commandName(),
  home: NamedHome | undefined = named,
): string {
  return text
    .replaceAll(
      /`perdure ([^`\n]+)`/g,
      (_, words: string) => `\`perdure ${words}${takesHome(words, home) ? homeFlag(home?.directory) : ''}\``,
    )
    .replaceAll(/(^ *|[`$|] ?|Usage: )perdure(?= [a-z[-])/gm, (_, before: string) => `${before}${name}`)
}

function takesHome(words: string, home: NamedHome | undefined): boolean {
  if (home === undefined || /--home\b/.test(words)) return false
  return home.takers.some((taker) => words === taker || words.startsWith(`${taker} `))
}

/** Undefined where there is no such file. */
function realPath(file: string): string | undefined {
  try {
    return realpathSync(file)
  } catch {
    return undefined
  }
}

/** Words as a shell reads them. */

/** A text as one word, whatever is in it; a NUL, which no argument can hold, is left out. @example shellWord("it's") // 'it'\''s' */
export function shellWord(text: string): string {
  return `'${text.replaceAll('\0', '').replaceAll("'", `'\\''`)}'`
}

/** The same in one line that a terminal obeys nothing of: bash, zsh and ksh read what control characters are written as. */
function codedWord(text: string): string {
  if (shownLine(text) === text) return shellWord(text)
  const coded = Array.from(text.replaceAll('\0', '').replaceAll(/['\\]/g, '\\$&'), (character) =>
    shownLine(character) === character
      ? character
      : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return `$'${coded.join('')}'`
}
