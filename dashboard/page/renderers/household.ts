/**
 * The known state of a household after some turns: where the agent is, what it carries, what lies where.
 *
 * It is read from what the game says, in the words of the built-in games and in those of ALFWorld.
 *
 * Invariants
 * - [HOUSEHOLD-1] Only what the agent has read is known: a place that was not seen has no contents.
 * - [HOUSEHOLD-2] Any text is read; one that says nothing of the kind changes nothing.
 */

export interface Household {
  readonly place: string | null
  readonly carried: readonly string[]
  /** By place; null: known to be there, but not what is in it. */
  readonly places: ReadonlyMap<string, readonly string[] | null>
  readonly closed: ReadonlySet<string>
  /** The known states of things: clean, hot, cold, on. */
  readonly states: ReadonlyMap<string, string>
}

interface Known {
  place: string | null
  carried: string[]
  readonly places: Map<string, string[] | null>
  readonly closed: Set<string>
  readonly states: Map<string, string>
}

/** @param texts observations in their order, with the command before each; '' before the first */
export function householdAfter(
  texts: readonly { readonly command: string; readonly text: string }[],
): Household {
  const known: Known = { place: null, carried: [], places: new Map(), closed: new Set(), states: new Map() }
  for (const { command, text } of texts) readTurn(known, command, text)
  return known
}

const thing = String.raw`(\w[\w' -]*? \d+)`

/** Many times what ALFWorld says at once: what is read takes time by the square of a line's length. */
const mostRead = 4000

function readTurn(known: Known, wholeCommand: string, wholeText: string): void {
  const [command, text] = [wholeCommand.slice(0, mostRead), wholeText.slice(0, mostRead)]
  if (/^nothing happens/i.test(text.trim())) return
  const [, target] = new RegExp(`^(?:go to|open|close|examine) ${thing}$`, 'i').exec(command.trim()) ?? []
  if (command.startsWith('go to ') && target !== undefined) known.place = target
  readPlaces(known, text)
  readContents(known, text, target)
  readCarried(known, command, text)
  for (const [, verb = '', name = ''] of command.matchAll(
    new RegExp(`^(clean|heat|cool|use) ${thing}`, 'gi'),
  ))
    known.states.set(
      name,
      { clean: 'clean', heat: 'hot', cool: 'cold', use: 'on' }[verb.toLowerCase()] ?? verb,
    )
}

/** The places that are named at the beginning, or by a look around. */
function readPlaces(known: Known, text: string): void {
  const [, list] = /you see ((?:an? )?[^.]*)\./i.exec(text) ?? []
  const isRoom = /in the middle of a room|^you (?:see|are at) /im.test(text)
  if (isRoom && list !== undefined && !/On the |In it/.test(text))
    for (const name of namesIn(list)) if (!known.places.has(name)) known.places.set(name, null)
  const [, here] = /^You are at ([^.]*)\./m.exec(text) ?? []
  for (const name of here === undefined ? [] : namesIn(here)) {
    if (!known.places.has(name)) known.places.set(name, null)
    known.place = name
  }
}

function readContents(known: Known, text: string, target: string | undefined): void {
  const arrivals = text.matchAll(new RegExp(`You arrive at ${thing}\\.`, 'g'))
  for (const [, name = ''] of arrivals) known.place = name
  for (const [, name = ''] of text.matchAll(new RegExp(`(?:The )?${thing} is closed`, 'g'))) {
    known.closed.add(name)
    if (!known.places.has(name)) known.places.set(name, null)
  }
  for (const [, name = ''] of text.matchAll(new RegExp(`(?:The )?${thing} is open`, 'g')))
    known.closed.delete(name)
  for (const [, name = '', list = ''] of text.matchAll(new RegExp(`^(?:In|On) ${thing}: ([^.]*)\\.`, 'gm')))
    contain(known, name, list)
  for (const [, name = '', list = ''] of text.matchAll(
    new RegExp(`On the ${thing}, you see ([^.]*)\\.`, 'g'),
  ))
    contain(known, name, list)
  const [, inside] = /In it, you see ([^.]*)\./.exec(text) ?? []
  const opened = target ?? known.place
  if (inside !== undefined && opened !== null) contain(known, opened, inside)
}

function contain(known: Known, name: string, list: string): void {
  known.places.set(name, [...namesIn(list)])
  known.closed.delete(name)
}

function readCarried(known: Known, command: string, text: string): void {
  const [, taken, from] = new RegExp(`^take ${thing} from ${thing}$`, 'i').exec(command.trim()) ?? []
  if (taken !== undefined && from !== undefined && /you (?:pick up|take)/i.test(text)) {
    known.carried = [...known.carried.filter((name) => name !== taken), taken]
    remove(known, taken)
  }
  const [, put, at] =
    new RegExp(`^(?:put|move) ${thing} (?:at|in/on|in|on|to) ${thing}$`, 'i').exec(command.trim()) ?? []
  if (put !== undefined && at !== undefined && /you (?:put|move)/i.test(text)) {
    known.carried = known.carried.filter((name) => name !== put)
    known.places.set(at, [...(known.places.get(at) ?? []), put])
  }
  const [, list] = /you (?:carry|are carrying):? ([^.]*)\./i.exec(text) ?? []
  if (list !== undefined) known.carried = [...namesIn(list)]
  else if (/you are not carrying anything/i.test(text)) known.carried = []
}

function remove(known: Known, name: string): void {
  for (const [place, contents] of known.places)
    if (contents?.includes(name))
      known.places.set(
        place,
        contents.filter((each) => each !== name),
      )
}

/** @example namesIn('a mug 1, an apple 2, and a pan 1') // ['mug 1', 'apple 2', 'pan 1'] */
export function namesIn(list: string): readonly string[] {
  return list
    .split(/,\s*(?:and )?|\s+and\s+/)
    .map((name) => name.trim().replace(/^(?:and )?(?:an?|the) /, ''))
    .filter((name) => /\d$/.test(name))
}
