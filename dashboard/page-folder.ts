/**
 * Where the files of the page are.
 *
 * Invariants
 * - The package brings them along; in a checkout they are built from the sources as they are, at the first use.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** The folder with `index.html`, `page.js`, `page.css` and `icon.svg`. */
export async function pageFolder(): Promise<string> {
  const builder = join(import.meta.dirname, '..', 'scripts', 'build-page.ts')
  if (!existsSync(builder)) return join(import.meta.dirname, 'page', 'dist')
  // Named at run time: what builds the page is no part of the package.
  const { builtPage }: { builtPage: () => Promise<string> } = await import(pathToFileURL(builder).href)
  return builtPage()
}
