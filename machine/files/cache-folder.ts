/** The user's cache: what can be had again, kept between homes. */
import { homedir } from 'node:os'
import { join } from 'node:path'

/** `$XDG_CACHE_HOME/perdure`, else `~/.cache/perdure`; `bin/perdure.mjs`, which runs before TypeScript does, says so too. */
export function cacheFolder(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'perdure')
}

/** Where warm starts are kept, each under what it follows from. */
export function warmStartsFolder(): string {
  return join(cacheFolder(), 'warm-starts')
}

/** Whether nothing that was trained may be taken from it: `PERDURE_NO_CACHE` is set. */
export function isCacheOff(): boolean {
  return Boolean(process.env.PERDURE_NO_CACHE)
}
