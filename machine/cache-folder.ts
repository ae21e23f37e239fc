/** The user's cache: what can be had again, kept between homes. */
import { homedir } from 'node:os'
import { join } from 'node:path'

/** `$XDG_CACHE_HOME/perdure`, else `~/.cache/perdure`; `bin/perdure.mjs`, which runs before TypeScript does, says so too. */
export function cacheFolder(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'perdure')
}
