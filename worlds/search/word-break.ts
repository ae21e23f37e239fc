/**
 * Word-break classes of characters, as the shop's search engine (Lucene's StandardTokenizer) tells them apart.
 *
 * Invariants
 * - Every character has one class; the class of a character never depends on its neighbours.
 * - The classes are those of Unicode's word boundary rules (UAX #29), made finer where Lucene is: Han,
 *   Hiragana and pictographs are words of one character, scripts without spaces are words of a whole run.
 */

/** Classes by number, so that a table of bytes can hold them. */
export const breakClass = {
  other: 1,
  letter: 2,
  hebrew: 3,
  numeric: 4,
  katakana: 5,
  /** A word of its own: Han, Hiragana. */
  single: 6,
  pictograph: 7,
  /** A pictograph that a skin tone may follow. */
  pictographPerson: 21,
  /** Letters of scripts that put no spaces between words: a run of them is one word. */
  spaceless: 8,
  /** Marks of such scripts: they extend what is before them, and begin a word where nothing does. */
  spacelessMark: 9,
  extend: 10,
  joiner: 11,
  /** Asks for a pictograph to be shown as text; it extends letters, not pictographs. */
  textSelector: 12,
  flag: 13,
  midLetter: 14,
  midNumber: 15,
  midBoth: 16,
  doubleQuote: 17,
  connector: 18,
  /** U+0027, which is `midBoth` and besides ends a Hebrew word. */
  apostrophe: 19,
  skinTone: 20,
} as const

const extend = /[[\p{Grapheme_Extend}\p{Mc}\p{Cf}\u200c]--\u200b]/v
const spacelessScript =
  /[\p{Script=Thai}\p{Script=Lao}\p{Script=Myanmar}\p{Script=Khmer}\p{Script=Tai_Le}\p{Script=New_Tai_Lue}\p{Script=Tai_Tham}\p{Script=Tai_Viet}\p{Script=Ahom}]/v
const letterSymbolOrMark = /[\p{L}\p{M}\p{S}]/v
// U+1A7F and the like are marks that Unicode's line breaking leaves out of those scripts.
const plainMark = /[\u1a7f\u1cf2\u1cf3]/v
const midBoth = /[.\u2018\u2019\u2024\ufe52\uff07\uff0e]/v
const midLetter = /[:\u00b7\u02d7\u0387\u05f4\u2027\ufe13\ufe55\uff1a]/v
const midNumber = /[,;\u037e\u0589\u060c\u060d\u066c\u07f8\u2044\ufe10\ufe14\ufe50\ufe54\uff0c\uff1b]/v
const connector = /[\p{Pc}\u202f]/v
const hebrew = /[\p{Script=Hebrew}&&\p{Lo}]/v
const katakana = /[\p{Script=Katakana}\u3031-\u3035\u309b\u309c\u30a0\u30fc\uff70]/v
const numeric = /[\p{Nd}\u066b]/v
const alphabetic = /[\p{Alphabetic}--[\p{Ideographic}\p{Script=Katakana}\p{Script=Hiragana}]]/v
// Letters although they are pictographs or ideographs as well.
const letterAnyway = /[\u05f3\u2139\u24c2\u3005\u303b\u{1f170}\u{1f171}\u{1f17e}\u{1f17f}]/v
const person = /\p{Emoji_Modifier_Base}/v
const han = /[\p{Script=Han}\p{Script=Hiragana}]/v
// Unicode 9, which Lucene follows, counted more symbols and reserved places as pictographs than later versions.
const pictograph =
  /[\p{Extended_Pictographic}\u2388\u2605\u2607-\u260d\u260f\u2610\u2612\u2616\u2617\u2619-\u261c\u261e\u261f\u2621\u2624\u2625\u2627-\u2629\u262b-\u262d\u2630-\u2637\u263b-\u263f\u2641\u2643-\u2647\u2654-\u265e\u2661\u2662\u2664\u2667\u2669-\u267a\u267c\u267d\u2680-\u2685\u2690\u2691\u2698\u269a\u269d-\u269f\u26a2-\u26a6\u26a8\u26a9\u26ac-\u26af\u26b2-\u26bc\u26bf-\u26c3\u26c6\u26c7\u26c9-\u26cd\u26d0\u26d2\u26d5-\u26e8\u26eb-\u26ef\u26f6\u26fb\u26fc\u26fe-\u2701\u2703\u2704\u270e\u2710\u2711\u2765-\u2767\u{1f000}-\u{1f003}\u{1f005}-\u{1f02b}\u{1f030}-\u{1f093}\u{1f0a0}-\u{1f0ae}\u{1f0b1}-\u{1f0bf}\u{1f0c1}-\u{1f0ce}\u{1f0d1}-\u{1f0f5}\u{1f10d}-\u{1f10f}\u{1f12f}\u{1f16c}-\u{1f16f}\u{1f1ad}\u{1f260}-\u{1f265}\u{1f322}\u{1f323}\u{1f394}\u{1f395}\u{1f398}\u{1f39c}\u{1f39d}\u{1f3f1}\u{1f3f2}\u{1f3f6}\u{1f4fe}\u{1f546}-\u{1f548}\u{1f54f}\u{1f568}-\u{1f56e}\u{1f571}\u{1f572}\u{1f57b}-\u{1f586}\u{1f588}\u{1f589}\u{1f58e}\u{1f58f}\u{1f591}-\u{1f594}\u{1f597}-\u{1f5a3}\u{1f5a6}\u{1f5a7}\u{1f5a9}-\u{1f5b0}\u{1f5b3}-\u{1f5bb}\u{1f5bd}-\u{1f5c1}\u{1f5c5}-\u{1f5d0}\u{1f5d4}-\u{1f5db}\u{1f5df}\u{1f5e0}\u{1f5e2}\u{1f5e4}-\u{1f5e7}\u{1f5e9}-\u{1f5ee}\u{1f5f0}-\u{1f5f2}\u{1f5f4}-\u{1f5f9}\u{1f6c6}-\u{1f6ca}\u{1f6d3}\u{1f6d4}\u{1f6e6}-\u{1f6e8}\u{1f6ea}\u{1f6f1}\u{1f6f2}\u{1f774}-\u{1f77f}\u{1f7d5}-\u{1f7d9}\u{1f8b0}-\u{1f8d8}\u{1fa00}-\u{1fa6d}\u{1fb00}-\u{1fbff}]/v

/** The class of a character, from what Unicode says of it. */
function classify(character: string): number {
  const point = character.codePointAt(0) ?? 0
  if (point === 0x200d) return breakClass.joiner
  if (point === 0xfe0e) return breakClass.textSelector
  if (point >= 0x1f1e6 && point <= 0x1f1ff) return breakClass.flag
  if (point >= 0x1f3fb && point <= 0x1f3ff) return breakClass.skinTone
  const extends_ = extend.test(character)
  if (
    spacelessScript.test(character) &&
    letterSymbolOrMark.test(character) &&
    !plainMark.test(character) &&
    !numeric.test(character)
  )
    return extends_ ? breakClass.spacelessMark : breakClass.spaceless
  if (extends_ || plainMark.test(character)) return breakClass.extend
  if (character === '"') return breakClass.doubleQuote
  if (character === "'") return breakClass.apostrophe
  if (midBoth.test(character)) return breakClass.midBoth
  if (midLetter.test(character)) return breakClass.midLetter
  if (midNumber.test(character)) return breakClass.midNumber
  if (connector.test(character)) return breakClass.connector
  if (katakana.test(character)) return breakClass.katakana
  if (hebrew.test(character)) return breakClass.hebrew
  if (numeric.test(character)) return breakClass.numeric
  if (letterAnyway.test(character)) return breakClass.letter
  if (han.test(character)) return breakClass.single
  if (person.test(character)) return breakClass.pictographPerson
  if (pictograph.test(character)) return breakClass.pictograph
  if (alphabetic.test(character)) return breakClass.letter
  return breakClass.other
}

// Filled as characters are met: 0 is "not looked at yet".
const basicPlane = new Uint8Array(0x10000)
const otherPlanes = new Map<number, number>()

/** The class of a code point. */
export function breakClassOf(point: number): number {
  if (point >= 0x10000) {
    let found = otherPlanes.get(point)
    if (found === undefined) {
      found = classify(String.fromCodePoint(point))
      otherPlanes.set(point, found)
    }
    return found
  }
  const known = basicPlane[point] ?? 0
  if (known !== 0) return known
  const found = classify(String.fromCharCode(point))
  basicPlane[point] = found
  return found
}
