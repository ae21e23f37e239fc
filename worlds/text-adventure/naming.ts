/**
 * Names that players read for the ids of objects: `desk_bar_…` is `desk 1`.
 *
 * Invariants
 * - Objects of a kind are numbered from 1; in the order of their ids the numbers fall.
 * - An id without `_bar_` is its own name, followed by a blank, as the official engine prints it.
 */

/** Names of all given ids. @param ids in ascending order */
export function nameObjects(ids: readonly string[]): Map<string, string> {
  const left = new Map<string, number>()
  const kinds = ids.map(kindOfId)
  for (const kind of kinds) if (kind !== undefined) left.set(kind, (left.get(kind) ?? 0) + 1)
  const names = new Map<string, string>()
  ids.forEach((id, at) => {
    const kind = kinds[at]
    if (kind === undefined) {
      names.set(id, `${readable(id)} `)
      return
    }
    const number = left.get(kind) ?? 0
    left.set(kind, number - 1)
    names.set(id, `${kind} ${number}`)
  })
  return names
}

/** The kind in the name of an object, which it has in common with others. @example kindOfId('desk_bar__plus_01') // 'desk' */
export function kindOfId(id: string): string | undefined {
  const end = id.indexOf('_bar_')
  if (end < 0) return undefined
  return readable(id.slice(0, end) + (id.includes('basin') ? 'basin' : ''))
}

function readable(text: string): string {
  return text
    .replaceAll('_minus_', '-')
    .replaceAll('_plus_', '+')
    .replaceAll('_dot_', '.')
    .replaceAll('_comma_', ',')
}
