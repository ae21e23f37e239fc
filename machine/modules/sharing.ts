/**
 * Sharing: modules that import `perdure` get this very one, without it being installed beside them.
 *
 * Invariants
 * - It is done once, however often it is asked for.
 */
import module from 'node:module'
import { extname } from 'node:path'

let shared = false

/** Makes `perdure` resolve to the running Perdure, for every importer. */
export function shareThisPerdure(): void {
  if (shared) return
  shared = true
  const entry = new URL(`../../index${extname(import.meta.url)}`, import.meta.url).href
  module.registerHooks({
    resolve: (specifier, context, nextResolve) =>
      nextResolve(specifier === 'perdure' ? entry : specifier, context),
  })
}
