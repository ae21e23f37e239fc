/**
 * Where a key is in the text of a TOML file.
 *
 * Invariants
 * - [TOML-PLACE-1] A key in a table of its own, a dotted key and a key of an inline table are found; what is not there is where its table
 *   begins, else the first line.
 */

/**
 * The line of a key, from 1.
 * @example lineOfKey('[agent]\ntimeout_sec = 1', ['agent', 'timeout_sec']) // 2
 */
export function lineOfKey(text: string, path: readonly PropertyKey[]): number {
  const wanted = path.filter((part) => typeof part === 'string')
  let table: readonly string[] = []
  let best = { line: 1, length: 0 }
  for (const [index, line] of text.split('\n').entries()) {
    const header = /^\s*\[{1,2}\s*([^\]]+?)\s*\]{1,2}/.exec(line)?.[1]
    if (header !== undefined) table = partsOf(header)
    const key = header === undefined ? /^\s*([\w."'-]+?)\s*=/.exec(line)?.[1] : undefined
    if (header === undefined && key === undefined) continue
    const here = key === undefined ? table : [...table, ...partsOf(key)]
    if (here.length > best.length && here.every((part, at) => part === wanted[at]))
      best = { line: index + 1, length: here.length }
  }
  return best.line
}

function partsOf(key: string): readonly string[] {
  return key.split('.').map((part) => part.trim().replaceAll(/^["']|["']$/g, ''))
}
