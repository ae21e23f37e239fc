/**
 * The files of the page, held in memory: they are few and small.
 *
 * Invariants
 * - [PAGE-FILES-1] Only what lies in the folder is served, under its own name: no path of a request reaches the disk.
 * - The package brings them along; in a checkout they are built from the sources as they are, at the first use.
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

export interface PageFile {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly type: string
  /** The tag of its content. */
  readonly tag: string
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
}

/** By path, e.g. `/page.js`; `/` is `index.html`. @throws where there is no page */
export function readPageFiles(folder: string): ReadonlyMap<string, PageFile> {
  const files = new Map<string, PageFile>()
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const type = types[extname(entry.name)]
    if (!entry.isFile() || type === undefined) continue
    const file = join(entry.parentPath, entry.name)
    const bytes = new Uint8Array(readFileSync(file))
    const tag = `"${createHash('sha256').update(bytes).digest('hex').slice(0, 32)}"`
    files.set(`/${file.slice(folder.length).replace(/^\/+/, '')}`, { bytes, type, tag })
  }
  const start = files.get('/index.html')
  if (start === undefined)
    throw new Error(`${folder} has no index.html: the page was not built (npm run build)`)
  return files.set('/', start)
}

/** The folder with `index.html`, `page.js`, `page.css` and `icon.svg`. */
export async function pageFolder(): Promise<string> {
  const builder = join(import.meta.dirname, '..', 'scripts', 'build-page.ts')
  if (!existsSync(builder)) return join(import.meta.dirname, 'page', 'dist')
  // Named at run time: what builds the page is no part of the package.
  const { builtPage }: { builtPage: () => Promise<string> } = await import(pathToFileURL(builder).href)
  return builtPage()
}
