/**
 * Files into and out of a container, as the engine's tar streams.
 *
 * Invariants
 * - A path that goes in is absolute and has no `..`; links in the container may lead it astray, but never out
 *   of the container.
 * - Bytes that come out are counted before they are kept; links are listed, never followed.
 */
import { posix } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { extract, pack } from 'tar-stream'
import type { EntryOut, FileIn } from './sandbox.ts'

/** Entries read of one answer: a name takes memory too. */
const entryLimit = 10_000

/** The tar of files; folders on the way to them are left as they are, or made. @throws RangeError */
export function tarOf(files: readonly FileIn[]): Readable {
  for (const { path } of files) requireInside(path)
  const tar = pack()
  for (const { path, content, mode = 0o644, uid = 0, gid = 0 } of files)
    tar.entry({ name: path.slice(1), mode, uid, gid, mtime: new Date(0) }, Buffer.from(content))
  tar.finalize()
  return Readable.from(tar)
}

/** @throws RangeError a path that is not absolute, or leaves what it names */
export function requireInside(path: string): void {
  if (!path.startsWith('/') || path.includes('\0') || posix.normalize(path) !== path || path.endsWith('/'))
    throw new RangeError(`"${path}" is no absolute path of a file in a container`)
}

/**
 * Reads a tar.
 * @param root first part of its paths, the name of what was asked for
 * @param limit bytes kept of all files together
 */
export async function entriesOf(
  tar: Readable,
  root: string,
  limit: number,
): Promise<{ entries: EntryOut[]; truncated: boolean }> {
  const entries: EntryOut[] = []
  let left = limit
  const parser = extract()
  tar.on('error', (error) => parser.destroy(error))
  tar.pipe(parser)
  try {
    for await (const entry of parser) {
      const { name, type, uid = 0, gid = 0, size = 0, linkname } = entry.header
      if (entries.length >= entryLimit || size > left) return { entries, truncated: true }
      const path = name.replace(/\/$/, '')
      const inside = path === root ? root : path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path
      // The engine adds the bits of the file's type, which the entry tells already.
      const facts = { path: inside, mode: (entry.header.mode ?? 0) & 0o7777, uid, gid }
      if (type === 'file' || type === 'contiguous-file') {
        const content = await buffer(entry)
        left -= content.length
        entries.push({ ...facts, kind: 'file', content })
        continue
      }
      entry.resume()
      if (type === 'directory') entries.push({ ...facts, kind: 'folder' })
      else if (type === 'symlink' || type === 'link')
        entries.push({ ...facts, kind: 'link', target: linkname ?? '' })
      else entries.push({ ...facts, kind: 'other' })
    }
    return { entries, truncated: false }
  } finally {
    tar.destroy()
    parser.destroy()
  }
}
