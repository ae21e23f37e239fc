/**
 * The shop as a person sees it: HTML of its pages.
 *
 * Invariants
 * - Every text of a product, goal or person is escaped.
 * - A page works without scripts and loads nothing from elsewhere.
 */
import { html, raw } from 'hono/html'
import type { Shop } from '../shop/product.ts'
import type { RewardParts } from '../shop/reward.ts'
import { type Page, type SubPage, subPages } from '../shop/visit.ts'

export type Html = ReturnType<typeof html>

/** The surroundings of a page of the shop. */
export interface PageView {
  readonly instance: string
  readonly instruction: string
  readonly page: Page
  readonly shop: Shop
  readonly showAttributes: boolean
  readonly turns: number
  readonly bought: { readonly reward: number; readonly parts: RewardParts } | undefined
}

/** A whole document. */
export function documentOf(view: PageView): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>WebShop ${view.instance}</title>
<link rel="icon" href="data:,">
<style>${raw(pageStyle)}</style>
</head>
<body>
<header>
<p class="wish">${view.instruction}</p>
<p class="facts">${view.instance} · ${view.turns} ${view.turns === 1 ? 'turn' : 'turns'}</p>
<form method="post" action="/next"><button class="quiet">Another goal</button></form>
</header>
<main>${bodyOf(view)}</main>
</body>
</html>`
}

/** A message to a person in place of a page. */
export function messageOf(title: string, text: string): Html {
  return html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${title}</title><style>${raw(pageStyle)}</style></head>
<body><main><h1>${title}</h1><p>${text}</p><p><a href="/">Back to the shop</a></p></main></body>
</html>`
}

function bodyOf(view: PageView): Html {
  const { page } = view
  switch (page.kind) {
    case 'search':
      return searchForm()
    case 'results':
      return resultsOf(page, view.shop)
    case 'item':
      return itemOf(page, view.showAttributes)
    case 'sub':
      return html`<nav>${click('Back to Search')}${click('< Prev')}</nav>
<h1>${page.product.title}</h1><h2>${page.name}</h2>${subPageBody[page.name](page)}`
    case 'done':
      return doneOf(page, view)
  }
}

function searchForm(): Html {
  return html`<h1>WebShop</h1>
<form class="search" method="post" action="/search">
<input name="keywords" aria-label="Keywords" placeholder="Search" autofocus required maxlength="2000">
<button>Search</button>
</form>`
}

/** A button that clicks on a text of the page; what is shown may say more. */
function click(value: string, shown: string | Html = value, style = ''): Html {
  return html`<form method="post" action="/click"><button name="value" value="${value}" class="${style}">${shown}</button></form>`
}

function resultsOf(page: Extract<Page, { kind: 'results' }>, shop: Shop): Html {
  const shown = page.found.slice((page.number - 1) * shop.pageSize, page.number * shop.pageSize)
  return html`<nav>${click('Back to Search')}${page.number > 1 ? click('< Prev') : ''}${click('Next >')}</nav>
<p class="facts">Page ${page.number}, ${page.found.length} results for “${page.keywords}”</p>
<ol class="results">${shown.map((id) => {
    const { title, priceTag } = shop.product(id)
    return html`<li>${click(
      id.toLowerCase(),
      html`<span class="id">${id}</span><span class="title">${title}</span><span class="price">${priceTag}</span>`,
      'card',
    )}</li>`
  })}</ol>
${shown.length === 0 ? html`<p>Nothing here.</p>` : ''}`
}

function itemOf({ product, options }: Extract<Page, { kind: 'item' }>, showAttributes: boolean): Html {
  const leads = subPages.filter((name) => showAttributes || name !== 'Attributes')
  return html`<nav>${click('Back to Search')}${click('< Prev')}</nav>
<h1>${product.title}</h1>
<p class="price">${product.priceTag}</p>
<p class="facts">${product.id} · Rating: ${product.rating}</p>
${[...product.options].map(
  ([name, values]) =>
    html`<section><h2>${name}</h2><div class="choices">${values.map((value) =>
      click(value, value, options.get(name) === value ? 'chosen' : ''),
    )}</div></section>`,
)}
<nav>${leads.map((name) => click(name))}</nav>
${click('Buy Now', 'Buy Now', 'buy')}`
}

const subPageBody: Readonly<Record<SubPage, (page: Extract<Page, { kind: 'sub' }>) => Html>> = {
  Description: ({ product }) => html`<p>${product.description === '' ? 'None.' : product.description}</p>`,
  Features: ({ product }) => list(product.features),
  Reviews: ({ product }) =>
    product.reviews.length === 0
      ? html`<p>None.</p>`
      : html`${product.reviews.map(({ title, score, body }) => html`<section><h3>${title} (${score})</h3><p>${body}</p></section>`)}`,
  Attributes: ({ product }) => html`${list(product.attributes)}<p class="facts">${product.categoryPath}</p>`,
}

function list(texts: readonly string[]): Html {
  return html`<ul>${texts.map((text) => html`<li>${text}</li>`)}</ul>`
}

function doneOf({ product, options }: Extract<Page, { kind: 'done' }>, { bought }: PageView): Html {
  return html`<h1>Bought</h1>
<p>${product.title}${[...options].map(([name, value]) => html`, ${name}: ${value}`)}</p>
<p class="score">Score ${(bought?.reward ?? 0).toFixed(3)}</p>
${bought === undefined ? '' : partsOf(bought.parts)}
<form method="post" action="/again"><button>Once more</button></form>`
}

function partsOf(parts: RewardParts): Html {
  const share = (value: number): string => `${Math.round(value * 100)} %`
  return html`<table>
<tr><th>Attributes met</th><td>${share(parts.r_att)}</td></tr>
${parts.r_option === undefined ? '' : html`<tr><th>Options met</th><td>${share(parts.r_option)}</td></tr>`}
<tr><th>Price met</th><td>${parts.r_price ? 'yes' : 'no'}</td></tr>
<tr><th>Factor for the type</th><td>${parts.r_type}</td></tr>
</table>`
}

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
