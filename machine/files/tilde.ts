/**
 * Paths that begin with `~` and that no shell replaced: in quotes, in a file, in a variable of a service.
 *
 * Invariants
 * - Such a path is refused, and the message gives the expanded one: the file system would take it for a folder of that name.
 */
import { homedir } from 'node:os'
import { join } from 'node:path'

/** The path that a shell would make of one that begins with `~`, or how to write it; undefined for any other. */
export function withoutTilde(path: string): string | undefined {
  const match = /^~([^/]*)(?:\/(.*))?$/s.exec(path)
  if (match === null) return undefined
  const [, user = '', rest = ''] = match
  return user === '' ? join(homedir(), rest) : 'an absolute path'
}
