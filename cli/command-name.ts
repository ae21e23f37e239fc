/**
 * The command as it is typed here: `npx perdure` in a checkout and where it is a dependency, `perdure` where the shell
 * finds it.
 *
 * Invariants
 * - Every command in what is printed for people passes here, so that it can be copied and works.
 * - What a package runner puts on the PATH is there for its own processes, not for the person's shell.
 */
import { realpathSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { packageRoot } from '../machine/package-root.ts'

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

/** The same text with its commands as they are typed here; a command begins a line, or follows `$`, `|`, a backtick or "Usage:". */
export function withTypedCommands(text: string, name: string = commandName()): string {
  return text.replaceAll(
    /(^ *|[`$|] ?|Usage: )perdure(?= [a-z[-])/gm,
    (_, before: string) => `${before}${name}`,
  )
}

/** Undefined where there is no such file. */
function realPath(file: string): string | undefined {
  try {
    return realpathSync(file)
  } catch {
    return undefined
  }
}
