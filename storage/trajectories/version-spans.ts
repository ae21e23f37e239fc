/**
 * How version spans are stored.
 *
 * Invariants
 * - Written and read again they are the same; what cannot be spans is refused as `corrupt` and named.
 */
import { z } from 'zod'
import type { VersionSpan } from '../../learning/run/version-spans.ts'
import { StorageFault } from '../disk/fault.ts'
import { jsonOf } from '../sqlite/codec.ts'

const schema = z.array(z.tuple([z.int().min(0), z.int().min(1)])).min(1)

export function writtenSpans(spans: readonly VersionSpan[]): string {
  return JSON.stringify(spans.map(({ version, tokens }) => [version, tokens]))
}

/** @throws StorageFault `corrupt` */
export function readSpans(text: string, subject: string): readonly VersionSpan[] {
  const parsed = schema.safeParse(jsonOf(text, `${subject}: spans`))
  if (parsed.success) return parsed.data.map(([version, tokens]) => ({ version, tokens }))
  throw new StorageFault('corrupt', `${subject}: the stored spans are invalid; it is not used`, {
    cause: parsed.error,
  })
}

/** The versions that sampled a stored action. @throws StorageFault `corrupt` */
export function versionsIn(row: {
  readonly episode: string
  readonly turn: number
  readonly version: number
  readonly spans: string | null
}): readonly number[] {
  if (row.spans === null) return [row.version]
  return readSpans(row.spans, `action ${row.turn} of episode ${row.episode}`).map(({ version }) => version)
}
