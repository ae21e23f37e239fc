/**
 * Observations of servers, as texts that an agent reads.
 *
 * Invariants
 * - [OBSERVED-1] An observation with one text is that text; any other is its JSON without metadata and without what is null.
 * - [OBSERVED-2] Content that no text can carry, such as an image, is named in its place.
 */
import { fieldsOf } from '../../contract/agent-tool.ts'

/** The text for an observation that has none: an empty message would tell the agent nothing. */
export const nothingToRead = '(nothing to read)'

/** @example observedText({ text: 'higher', metadata: {}, hint: null }) // 'higher' */
export function observedText(observation: unknown): string {
  const kept = readable(observation)
  if (typeof kept === 'string') return kept === '' ? nothingToRead : kept
  const values = Object.values(fieldsOf(kept))
  if (values.length === 0) return nothingToRead
  const [only] = values
  return values.length === 1 && typeof only === 'string' && only !== '' ? only : JSON.stringify(kept)
}

/** @example contentText([{ type: 'text', text: 'a' }, { type: 'image', mimeType: 'image/png', data: '…' }]) // 'a\n[image image/png]' */
export function contentText(content: readonly unknown[]): string {
  const parts = content.map((part) => {
    if (typeof part === 'string') return part
    const { type, text, mimeType, resource, image_url: link } = fieldsOf(part)
    if (typeof text === 'string') return text
    const { text: held, uri, mimeType: of } = fieldsOf(resource)
    if (typeof held === 'string') return held
    const url = fieldsOf(link).url
    return named(
      String(type ?? 'content'),
      mimeType ?? of ?? uri ?? (typeof url === 'string' ? mediaTypeOf(url) : undefined),
    )
  })
  return parts.join('\n') || nothingToRead
}

function readable(value: unknown): unknown {
  if (typeof value === 'string') {
    const media = mediaTypeOf(value)
    return media === undefined ? value : named(media.split('/')[0] ?? '', media)
  }
  if (Array.isArray(value)) return value.map(readable)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, each]) => each !== null && key !== 'metadata')
      .map(([key, each]) => [key, readable(each)]),
  )
}

function mediaTypeOf(text: string): string | undefined {
  return /^data:([\w.+-]+\/[\w.+-]+)[;,]/.exec(text.slice(0, 200))?.[1]
}

function named(what: string, type: unknown): string {
  return typeof type === 'string' ? `[${what} ${type}]` : `[${what}]`
}
