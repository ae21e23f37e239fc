/**
 * The alphabet of byte-level tokenizers: each byte as one printable character (GPT-2's table).
 *
 * Invariants
 * - 256 bytes, 256 different characters; printable Latin-1 is unchanged.
 */

function buildCharacters(): readonly string[] {
  const characters: string[] = []
  let next = 256
  for (let byte = 0; byte < 256; byte++) {
    const printable = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173)
    characters.push(String.fromCharCode(printable ? byte : next++))
  }
  return characters
}

/** [256] the character of a byte. */
export const characterOfByte: readonly string[] = buildCharacters()
/** The byte of a character. */
export const byteOfCharacter: ReadonlyMap<string, number> = new Map(
  characterOfByte.map((character, byte) => [character, byte]),
)

const utf8 = new TextEncoder()

/** UTF-8 bytes of a text, each as its character. */
export function spellBytes(text: string): string {
  let spelled = ''
  for (const byte of utf8.encode(text)) spelled += characterOfByte[byte]
  return spelled
}

/** The bytes of a spelled token; undefined where a character has none. */
export function readSpelling(token: string): Uint8Array | undefined {
  const bytes = new Uint8Array(token.length)
  for (let i = 0; i < token.length; i++) {
    const byte = byteOfCharacter.get(token.charAt(i))
    if (byte === undefined) return undefined
    bytes[i] = byte
  }
  return bytes
}
