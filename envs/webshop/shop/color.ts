/**
 * Colours that the shop knows: options that name one are compared by it.
 *
 * Source: the list of the published environment, in its order, which decides where a text holds several.
 *
 * Invariants
 * - A text that holds no known colour stays as it is.
 */
const colors = `alabaster apricot aqua ash asphalt azure banana beige black blue blush bordeaux bronze brown
burgundy camel camo caramel champagne charcoal cheetah chestnut chocolate christmas coffee cognac copper coral
cranberry cream crystal dark denim eggplant elephant espresso fuchsia gold granite grape graphite grass gray
green grey heather indigo ivory ivy khaki lavender lemon leopard light lilac lime magenta maroon mauve merlot
midnight mint mocha multicolor mushroom mustard natural navy nude olive orange peach pewter pink plum purple
rainbow red rose royal rust sand sapphire seashell silver skull slate steel stone stonewash sunflower tan taupe
teal tiger turquoise violet walnut wheat white wine yellow`.split(/\s+/)

/** The first known colour that the text holds, even within a word; else the text. */
export function colorOf(text: string): string {
  return colors.find((color) => text.includes(color)) ?? text
}

/** The first known colour that is one of the texts. */
export function colorAmong(texts: readonly string[]): string | undefined {
  return colors.find((color) => texts.includes(color))
}
