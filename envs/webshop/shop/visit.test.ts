import { expect, test } from 'vitest'
import { toyProduct, toyShop } from './toy.testing.ts'
import { Visit } from './visit.ts'

const options = new Map([
  ['color', ['red', 'nine']],
  ['size', ['nine', 'ten']],
])
const shop = toyShop([toyProduct('A1', { options }), toyProduct('A2'), toyProduct('A3')])

function visit(...clicks: string[]): Visit {
  const visited = new Visit(shop, { showAttributes: false })
  visited.search('toy')
  for (const name of clicks) visited.click(name)
  return visited
}

test('buttons come first, then products, then values of options, each once', () => {
  expect(new Visit(shop, { showAttributes: false }).clickables).toEqual(['search'])
  expect(visit().clickables).toEqual(['back to search', 'next >', 'a1', 'a2'])
  expect(visit('next >').clickables).toEqual(['back to search', '< prev', 'next >', 'a3'])
  expect(visit('a1').clickables).toEqual(
    'back to search,< prev,description,features,reviews,buy now,red,nine,ten'.split(','),
  )
  expect(visit('a1', 'features').clickables).toEqual(['back to search', '< prev'])
})

test('pages beyond the last result are empty, and lead on and back', () => {
  const visited = visit('next >', 'next >')
  expect(visited.page).toMatchObject({ kind: 'results', number: 3 })
  expect(visited.clickables).toEqual(['back to search', '< prev', 'next >'])
  visited.click('< prev')
  expect(visited.clickables).toContain('a3')
})

test('of a value that several options have, the last one is chosen', () => {
  const { page } = visit('a1', 'nine', 'red')
  expect(page.kind === 'item' && [...page.options]).toEqual([
    ['size', 'nine'],
    ['color', 'red'],
  ])
})

test('options outlive sub-pages, and are forgotten when the product is left', () => {
  const sub = visit('a1', 'red', 'features', '< prev').page
  expect(sub.kind === 'item' && sub.options.get('color')).toBe('red')
  const left = visit('a1', 'red', '< prev', 'a1').page
  expect(left.kind === 'item' && left.options.size).toBe(0)
})

test('"< Prev" leads from a product to the page of results that it was on', () => {
  expect(visit('next >', 'a3', '< prev').page).toMatchObject({ kind: 'results', number: 2 })
})

test('a click works on what the page shows and on nothing else', () => {
  for (const clicks of [[], ['a1'], ['a1', 'features'], ['back to search']])
    for (const name of [
      'search',
      'a3',
      'buy',
      '',
      'constructor',
      '__proto__',
      'attributes',
      'x'.repeat(1e6),
    ]) {
      const visited = visit(...clicks)
      const before = visited.page
      visited.click(name)
      expect(visited.page).toBe(before)
    }
})

test('after a purchase nothing works', () => {
  const visited = visit('a1', 'buy now')
  const { page } = visited
  expect(page.kind).toBe('done')
  visited.search('toy')
  visited.click('back to search')
  expect(visited.page).toBe(page)
  expect(visited.clickables).toEqual([])
})

test('a search works on every page', () => {
  const visited = visit('a1', 'features')
  visited.search('toy a3')
  expect(visited.clickables).toEqual(['back to search', 'next >', 'a3'])
})

test('the list of attributes can be shown', () => {
  const visited = new Visit(shop, { showAttributes: true })
  visited.search('toy')
  visited.click('a1')
  visited.click('attributes')
  expect(visited.page).toMatchObject({ kind: 'sub', name: 'Attributes' })
})
