import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sharedData } from '../../../test/support/shared-data.ts'
import { openDataset } from './dataset.ts'

vi.setConfig({ testTimeout: 120_000 })

let dir = ''
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'perdure-webshop-'))
})
afterEach(() => rm(dir, { recursive: true, force: true }))

const item = {
  asin: 'B0HAT',
  name: 'Red Hat',
  full_description: 'A hat.',
  small_description: ['warm', 'soft'],
  pricing: '$10.00 - $1,020.50',
  category: 'fashion',
  query: ' Hats ',
  product_category: 'Clothing › Hats',
  customization_options: { Color: [{ value: 'Red/Blue' }, { value: ' Green ' }], Size: null },
  images: ['x.jpg'],
}

async function write(name: string, value: unknown): Promise<void> {
  await writeFile(path.join(dir, name), JSON.stringify(value))
}

test('scraped items are read as the original reads them: prices, options, attributes, goals', async () => {
  await write('items_shuffle_1000.json', [
    item,
    { ...item, asin: 'nan' },
    item,
    { ...item, asin: 'B0CAP', pricing: '', customization_options: '' },
  ])
  await write('items_ins_v2_1000.json', {
    B0HAT: { attributes: ['warm wool'], instruction: 'Find me hats', instruction_attributes: ['warm wool'] },
    B0OTHER: { attributes: [] },
  })
  await write('items_human_ins.json', {
    B0CAP: [
      { instruction: 'i want a cap.', instruction_attributes: ['warm'], instruction_options: ['red'] },
      { instruction: 'nothing', instruction_attributes: [], instruction_options: [] },
    ],
  })
  const { catalogue, synthetic, human, warnings, close } = await openDataset(dir)
  expect(catalogue.size).toBe(2)
  expect(catalogue.find('hat')).toEqual(['B0CAP', 'B0HAT'])
  expect(catalogue.find('<q> hats')).toEqual(['B0HAT', 'B0CAP'])
  expect(catalogue.product('B0HAT')).toMatchObject({
    priceTag: '$10.0 to $1020.5',
    prices: [10, 1020.5],
    query: 'hats',
    options: new Map([['color', ['red | blue', 'green']]]),
    attributes: ['warm wool'],
  })
  expect(catalogue.product('B0CAP')).toMatchObject({ priceTag: '$100.0', attributes: ['DUMMY_ATTR'] })
  expect(catalogue.price('B0HAT')).toBeGreaterThan(10)
  expect(synthetic.size).toBe(2)
  const texts = [0, 1].map((number) => synthetic.goal(number)?.text)
  expect(new Set(texts.map((text) => text?.replace(/, and price.*/, '')))).toEqual(
    new Set(['Find me hats with color: red | blue', 'Find me hats with color: green']),
  )
  expect(human.size).toBe(1)
  expect(human.goal(0)?.text).toMatch(/^i want a cap, and price lower than 1[1-4]0\.00 dollars$/)
  expect(warnings.join()).toMatch(/title_nouns_spacy\.json is not there/)
  close()
})

test.each(['19.99', '€19.99', '$', '$1.234.56', '$5-7', '$1,99', '$19.99-27.99', '$free'])(
  'a price that cannot be read, %j, is no other price: its product is named and left out',
  async (pricing) => {
    await write('items_shuffle.json', [{ ...item, asin: 'B0BAD', pricing }, item])
    const { catalogue, warnings, close } = await openDataset(dir)
    expect(catalogue.size).toBe(1)
    expect(warnings[0]).toContain(`product 1 is left out: Error: its price is ${JSON.stringify(pricing)}`)
    close()
  },
)

test('a product that cannot be read is named and left out; a limit takes the first ones', async () => {
  await write('items_shuffle.json', [{ asin: 'B0BAD' }, item, { ...item, asin: 'B0CAP' }])
  const all = await openDataset(dir)
  expect(all.catalogue.size).toBe(2)
  expect(all.warnings[0]).toMatch(/product 1 is left out/)
  const first = await openDataset(dir, 2)
  expect(first.catalogue.size).toBe(1)
})

test('a folder without products is refused with what was expected', async () => {
  await expect(openDataset(dir)).rejects.toMatchObject({ kind: 'bad_data' })
  await expect(openDataset(path.join(dir, 'nowhere'))).rejects.toThrow(/cannot be read/)
  await mkdir(path.join(dir, 'data'))
  await writeFile(path.join(dir, 'data', 'items_shuffle.json'), '[]')
  await expect(openDataset(dir)).rejects.toThrow(/holds no products/)
})

const official = sharedData('webshop')
const missing = existsSync(official) ? false : `no official shop in ${official}`

describe.skipIf(missing)(`the official shop${missing ? ` (skipped: ${missing})` : ''}`, () => {
  test('goals that no file lists are made as the original made them, and shuffled into its order', async () => {
    for (const name of ['documents_1k.json', 'items_ins_v2_1000.json', 'product_prices.json'])
      await symlink(path.join(official, name), path.join(dir, name))
    const { synthetic, close } = await openDataset(dir)
    const listed = z
      .array(z.object({ asin: z.string(), instruction_text: z.string() }))
      .parse(JSON.parse(readFileSync(path.join(official, 'goals_synthetic_6910.json'), 'utf8')))
    expect(synthetic.size).toBe(listed.length)
    // Price limits were drawn without a seed: only they may differ.
    const withoutLimit = (text: string): string => text.replace(/, and price lower than.*/, '')
    for (let number = 0; number < listed.length; number += 7) {
      const goal = synthetic.goal(number)
      expect(goal?.productId).toBe(listed[number]?.asin)
      expect(withoutLimit(goal?.text ?? '')).toBe(withoutLimit(listed[number]?.instruction_text ?? ''))
    }
    close()
  })
})
