/**
 * Misreading: an expert's action in which one word is read wrongly, as a policy that has not learnt to copy reads it.
 *
 * Invariants
 * - [MISREADING-1] It differs from the action in one word of one argument, and calls the same tools.
 * - Pure: what is drawn comes from the caller.
 */
import { drawnFrom } from '../envs/draw.ts'
import type { AssistantMessage } from '../messages/message.ts'

const wordPattern = /[\p{L}\p{N}]{2,}/gu

/** A word of an action: which call, which argument with its text, and where in it. */
interface Place {
  readonly call: number
  readonly key: string
  readonly text: string
  readonly begin: number
  readonly word: string
}

export function wordsOf(text: string): readonly string[] {
  return text.match(wordPattern) ?? []
}

/**
 * @param seen  words that a reader may take for another
 * @param draw  uniforms in [0, 1)
 * @returns undefined where the action has no word in its arguments, or nothing else was seen
 */
export function misread(
  action: AssistantMessage,
  seen: readonly string[],
  draw: () => number,
): AssistantMessage | undefined {
  const place = drawnFrom(placesIn(action), draw)
  if (place === undefined) return undefined
  const other = drawnFrom(
    seen.filter((word) => word !== place.word),
    draw,
  )
  if (other === undefined) return undefined
  // Half of them begin as the right word does.
  const wrong = draw() < 0.5 ? other : firstHalf(place.word) + secondHalf(other)
  return wrong === place.word ? undefined : withWord(action, place, wrong)
}

function placesIn({ tool_calls: calls = [] }: AssistantMessage): readonly Place[] {
  const texts = calls.flatMap(({ arguments: given }, call) =>
    Object.entries(given).flatMap(([key, text]) => (typeof text === 'string' ? [{ call, key, text }] : [])),
  )
  return texts.flatMap((place) =>
    [...place.text.matchAll(wordPattern)].map(({ index, 0: word }) => ({ ...place, begin: index, word })),
  )
}

function withWord(action: AssistantMessage, place: Place, wrong: string): AssistantMessage {
  const { key, text, begin, word } = place
  const misreadText = text.slice(0, begin) + wrong + text.slice(begin + word.length)
  const calls = (action.tool_calls ?? []).map((call, position) =>
    position === place.call
      ? { name: call.name, arguments: { ...call.arguments, [key]: misreadText } }
      : call,
  )
  return { ...action, tool_calls: calls }
}

function firstHalf(word: string): string {
  return word.slice(0, Math.ceil(word.length / 2))
}

function secondHalf(word: string): string {
  return word.slice(Math.ceil(word.length / 2))
}
