/** JSON that someone else has written. */

/** @returns what it says; undefined where it is no JSON */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
