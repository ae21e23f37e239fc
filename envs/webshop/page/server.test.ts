import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ServedPage } from '../../contract/environment.ts'
import { noPriceLimit } from '../shop/goal.ts'
import { toyProduct, toyShop } from '../shop/toy.testing.ts'
import { createSession } from '../shop-session.ts'
import { servePage } from './server.ts'

const nasty = '<script>alert("1")</script>'
const product = toyProduct('A1', {
  title: `Toy ${nasty}`,
  description: nasty,
  features: [nasty],
  options: new Map([['color', [nasty, 'red']]]),
})

let page: ServedPage
beforeEach(async () => {
  const session = createSession({
    shop: toyShop([product]),
    nouns: { nounsOf: async () => ['toy'] },
    goalOf: (id) => ({
      productId: 'A1',
      title: '',
      query: 'toys',
      categoryPath: '',
      text: `${id} ${nasty}`,
      attributes: [],
      options: [],
      priceLimit: noPriceLimit,
    }),
    systemPrompt: '',
    pages: 'brief',
    showAttributes: false,
  })
  page = await servePage({ session, instances: ['one', 'two'].values(), port: 0 })
})
afterEach(() => page.close())

async function send(
  path: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<number> {
  const { status } = await fetch(new URL(path, page.url), {
    method: 'POST',
    body: new URLSearchParams(fields),
    headers: { origin: new URL(page.url).origin, ...headers },
    redirect: 'manual',
  })
  return status
}

async function shown(): Promise<string> {
  return (await fetch(page.url)).text()
}

test('a person searches, chooses, reads and buys; every text is escaped on the way', async () => {
  const pages = [await shown()]
  for (const [path, fields] of [
    ['search', { keywords: 'toy' }],
    ['click', { value: 'a1' }],
    ['click', { value: nasty }],
    ['click', { value: 'Features' }],
    ['click', { value: '< Prev' }],
    ['click', { value: 'Description' }],
    ['click', { value: '< Prev' }],
    ['click', { value: 'Buy Now' }],
  ] as [string, Record<string, string>][]) {
    expect(await send(path, fields)).toBe(303)
    pages.push(await shown())
  }
  for (const text of pages) {
    expect(text).not.toContain('<script')
    expect(text).toContain('&lt;script&gt;')
  }
  expect(pages.at(-1)).toMatch(/Score 1\.000/)
  expect(await send('again', {})).toBe(303)
  expect(await shown()).toContain('one · 0 turns')
  expect(await send('next', {})).toBe(303)
  expect(await shown()).toContain('two · 0 turns')
  expect(await send('next', {})).toBe(303)
  expect(await shown()).toContain('two · 0 turns')
})

test('it changes nothing on a request from another site, and answers to loopback names only', async () => {
  expect(await send('search', { keywords: 'toy' }, { origin: 'http://evil.example' })).toBe(403)
  expect(await shown()).toContain('one · 0 turns')
  const { hostname } = new URL(page.url)
  expect(hostname).toBe('127.0.0.1')
})

test('forms that are too long, wrong or elsewhere are answered in words', async () => {
  expect(await send('search', { keywords: 'x'.repeat(100_000) })).toBe(413)
  expect(await send('search', {})).toBe(303)
  expect(await send('nowhere', {})).toBe(404)
  expect(await shown()).toContain('one · 0 turns')
})

test('actions are played one after another, in the order in which they came', async () => {
  await Promise.all([
    send('search', { keywords: 'toy' }),
    ...Array.from({ length: 5 }, () => send('click', { value: 'x' })),
  ])
  expect(await shown()).toContain('one · 6 turns')
})
