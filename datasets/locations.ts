/**
 * Where a file is looked for: at its publisher, at a mirror, or in a folder.
 *
 * A mirror or folder may have it under the publisher's host and path, as mirroring tools lay files out
 * (`raw.githubusercontent.com/THUDM/…`), under the path alone, or as `<task>/<path>`, the layout of pulled data.
 */
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Source } from './catalogue.ts'

/** Where data is pulled from; its publishers by default. */
export interface Origin {
  /** Base URL of a mirror. */
  readonly mirror?: string | undefined
  /** Folder with files that were brought here. */
  readonly from?: string | undefined
}

/** Addresses of a source in the order in which they are tried; of files in a folder, `file:` URLs. */
export function locationsOf(task: string, source: Source, { mirror, from }: Origin): readonly string[] {
  if (mirror === undefined && from === undefined) return source.addresses
  const base = mirror ?? pathToFileURL(path.resolve(from ?? '.')).href
  const places = [
    ...source.addresses.flatMap((address) => {
      const { host, pathname, search } = new URL(address)
      // A query names no file in a folder.
      if (search !== '' && mirror === undefined) return []
      return [`${host}${pathname}${search}`, `${pathname.slice(1)}${search}`]
    }),
    ...[`${task}/${source.path}`, source.path, path.posix.basename(source.path)].map((place) =>
      place.split('/').map(encodeURIComponent).join('/'),
    ),
  ]
  return [...new Set(places)].map((place) => `${base.replace(/\/+$/, '')}/${place}`)
}
