/**
 * JSON texts that other programs read as this one wrote them.
 *
 * Invariants
 * - A text is one line to every reader: Python's `splitlines` and Node's readline also end lines at U+0085, U+2028 and
 *   U+2029, which JSON allows in strings.
 * - No surrogate stands alone: U+FFFD replaces it, as UTF-8 encoders do. orjson, serde and DuckDB refuse its escape.
 */

/** @param value data that JSON can express */
export function portableJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(/\\(?:u[0-9a-f]{4}|.)|[\u0085\u2028\u2029]/g, (found) => {
    // JSON.stringify escapes surrogates only where they stand alone.
    if (found.startsWith('\\')) return /^\\ud[89a-f]/.test(found) ? '\ufffd' : found
    return `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}
