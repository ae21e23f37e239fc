/**
 * Where this package lies: what is shipped beside the code is found from there, in a checkout and as built alike.
 */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The folder of Perdure's `package.json`. */
export const packageRoot = rootAbove(import.meta.dirname)

function rootAbove(folder: string): string {
  if (existsSync(join(folder, 'package.json'))) return folder
  const parent = dirname(folder)
  if (parent === folder) throw new Error('Perdure lies outside of its package: install it again.')
  return rootAbove(parent)
}
