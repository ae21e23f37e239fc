/**
 * Version spans: which versions sampled which tokens of an action that several sampled one after another.
 *
 * Invariants
 * - [SPAN-1] Spans cover all tokens of their action in their order, and begin with the action's own version.
 * - [SPAN-2] Every token has one version; an action without spans has its own at each.
 */

/** Tokens that follow one another, and the version that sampled them. */
export interface VersionSpan {
  readonly version: number
  /** How many. */
  readonly tokens: number
}

/** A sample with spans, or of one version. */
interface Sampled {
  readonly version: number
  readonly spans?: readonly VersionSpan[] | undefined
}

interface SampledAction extends Sampled {
  readonly tokens: { readonly length: number }
}

export function areSpansOf({ version, tokens }: SampledAction, spans: readonly VersionSpan[]): boolean {
  const covered = spans.reduce((sum, span) => sum + span.tokens, 0)
  return spans[0]?.version === version && covered === tokens.length
}

/** The version of each token. */
export function tokenVersions({ version, spans = [], tokens }: SampledAction): Int32Array {
  const versions = new Int32Array(tokens.length).fill(version)
  let at = 0
  for (const span of spans) {
    versions.fill(span.version, at, at + span.tokens)
    at += span.tokens
  }
  return versions
}

/** The version of one token. @param index among those of its action, from 0 */
export function versionAt({ version, spans = [] }: Sampled, index: number): number {
  let end = 0
  for (const span of spans) {
    end += span.tokens
    if (index < end) return span.version
  }
  return version
}

/** In the order in which they sampled. */
export function versionsOf({ version, spans = [] }: Sampled): readonly number[] {
  return spans.length === 0 ? [version] : spans.map((span) => span.version)
}
