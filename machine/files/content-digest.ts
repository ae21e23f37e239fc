/**
 * A digest of files and folders, so that what was computed from them is not used after they changed.
 *
 * Invariants
 * - [DIGEST-1] The digest covers the name and the content of every file. Trees over the byte limit are covered by each file's name,
 *   size and time of change instead, because reading them takes longer than the work that is saved.
 * - Hidden entries, installed packages and homes of Perdure are skipped: they change without changing a result.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'

interface FoundFile {
  /** Relative to the tree that it was found in, with the position of that tree. */
  readonly name: string
  readonly path: string
  readonly size: number
  readonly changed: number
}

/** Read in about half a second. */
const defaultLimit = 256 * 1024 * 1024

/**
 * @param paths files and folders; one that does not exist counts as missing
 * @param limit bytes that are read altogether
 */
export async function contentDigest(paths: readonly string[], limit = defaultLimit): Promise<string> {
  const files: FoundFile[] = []
  const visited = new Set<string>()
  for (const [tree, path] of paths.entries()) await collect(path, String(tree), files, visited)
  const isRead = files.reduce((sum, { size }) => sum + size, 0) <= limit
  const hash = createHash('sha256')
  for (const { name, path, size, changed } of files) {
    hash.update(`\0${name}\0${size}\0`)
    if (isRead) for await (const piece of createReadStream(path)) hash.update(piece)
    else hash.update(String(changed))
  }
  return hash.digest('hex')
}

async function collect(path: string, name: string, files: FoundFile[], visited: Set<string>): Promise<void> {
  const found = await stat(path).catch(() => undefined)
  if (found === undefined) return
  if (found.isFile()) files.push({ name, path, size: found.size, changed: found.ctimeMs })
  if (!found.isDirectory()) return
  // A link may lead back to a folder above it.
  const real = await realpath(path)
  if (visited.has(real)) return
  visited.add(real)
  const entries = (await readdir(path)).toSorted()
  if (entries.includes('store.db')) return
  for (const entry of entries)
    if (!entry.startsWith('.') && entry !== 'node_modules' && entry !== '__pycache__')
      await collect(join(path, entry), `${name}/${entry}`, files, visited)
}
