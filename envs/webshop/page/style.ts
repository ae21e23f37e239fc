/**
 * How the shop's pages look.
 *
 * Invariants
 * - Text is legible in light and dark surroundings, on narrow and wide screens.
 */
export const pageStyle = `
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 20%, transparent); --accent: light-dark(#1d5fbf, #8db8f7); }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0; background: light-dark(#fafafa, #17191c); }
header { position: sticky; top: 0; display: flex; flex-wrap: wrap; gap: .25rem 1rem; align-items: center; padding: .75rem 1.25rem; border-bottom: 1px solid var(--line); background: light-dark(#fff, #202327); }
header form { margin-left: auto; }
.wish { flex: 1 1 30rem; margin: 0; font-weight: 600; }
.facts { margin: 0; opacity: .7; font-size: .875rem; overflow-wrap: anywhere; }
main { max-width: 52rem; margin: 0 auto; padding: 1.25rem; }
h1 { font-size: 1.375rem; line-height: 1.3; margin: 1rem 0 .5rem; overflow-wrap: anywhere; }
h2 { font-size: 1rem; margin: 1rem 0 .375rem; }
p, li { overflow-wrap: anywhere; }
nav, .choices { display: flex; flex-wrap: wrap; gap: .5rem; margin: .75rem 0; }
form { margin: 0; }
button { font: inherit; padding: .375rem .75rem; border: 1px solid var(--line); border-radius: .375rem; background: light-dark(#fff, #2a2e33); color: inherit; cursor: pointer; }
button:hover, button:focus-visible { border-color: var(--accent); }
.quiet { border-color: transparent; background: none; color: var(--accent); }
.chosen { border-color: var(--accent); box-shadow: inset 0 0 0 1px var(--accent); }
.buy { background: #1d5fbf; color: #fff; padding: .5rem 1.5rem; margin-top: .75rem; }
.search { display: flex; gap: .5rem; }
.search input { flex: 1; font: inherit; padding: .5rem .75rem; border: 1px solid var(--line); border-radius: .375rem; }
.results { list-style: none; margin: .75rem 0; padding: 0; display: grid; gap: .5rem; }
.card { display: grid; grid-template-columns: 7rem 1fr auto; gap: 1rem; width: 100%; text-align: left; align-items: baseline; }
.id { opacity: .7; font-size: .875rem; }
.price { font-weight: 600; white-space: nowrap; }
.score { font-size: 1.75rem; margin: .5rem 0; }
table { border-collapse: collapse; margin: .75rem 0; }
th, td { text-align: left; font-weight: normal; padding: .25rem 1.5rem .25rem 0; border-bottom: 1px solid var(--line); }
@media (max-width: 36rem) { .card { grid-template-columns: 1fr; gap: .125rem; } }
`
