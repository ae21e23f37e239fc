/**
 * Words of the built-in shop: what it sells, what products are like, what can be chosen.
 *
 * Invariants
 * - No attribute's words are all within another one's, so that none is taken for another.
 * - Colours are ones that the shop compares as such, and none is within another; no other value holds one.
 * - What a ware is called in a title and in an instruction have the same stem.
 */

/** A kind of product. */
export interface Ware {
  readonly noun: string
  /** What it is searched by; also the product's `query`. */
  readonly plural: string
  readonly department: Department
  /** Usual price in dollars. */
  readonly price: number
}

export const departments = ['clothing', 'kitchen', 'home', 'beauty', 'electronics', 'outdoors'] as const
export type Department = (typeof departments)[number]

/** What products of a department can be like, and how sizes are called there. */
export interface DepartmentWords {
  readonly title: string
  readonly aisle: string
  readonly attributes: readonly string[]
  readonly sizes: readonly string[]
  /** A third option, which only some products have. */
  readonly extra: { readonly name: string; readonly values: readonly string[] }
}

export const departmentWords: Readonly<Record<Department, DepartmentWords>> = {
  clothing: {
    title: 'Clothing',
    aisle: 'Everyday Wear',
    attributes: [
      'machine washable',
      'slim fit',
      'quick drying',
      'hand knitted',
      'rain proof',
      'striped',
      'lined',
    ],
    sizes: ['small', 'medium', 'large'],
    extra: { name: 'fit', values: ['tall', 'regular', 'short'] },
  },
  kitchen: {
    title: 'Kitchen',
    aisle: 'Cooking',
    attributes: [
      'dishwasher safe',
      'heat resistant',
      'stackable',
      'hand made',
      'unbreakable',
      'non stick',
      'glazed',
    ],
    sizes: ['one cup', 'two cups', 'four cups'],
    extra: { name: 'lid', values: ['with lid', 'without'] },
  },
  home: {
    title: 'Home',
    aisle: 'Living',
    attributes: [
      'easy assembly',
      'fade resistant',
      'foldable',
      'hand woven',
      'scratch proof',
      'round',
      'carved',
    ],
    sizes: ['narrow', 'middle', 'wide'],
    extra: { name: 'finish', values: ['matt', 'glossy'] },
  },
  beauty: {
    title: 'Beauty',
    aisle: 'Personal Care',
    attributes: [
      'fragrance free',
      'cruelty free',
      'vegan',
      'long lasting',
      'travel friendly',
      'gentle',
      'refillable',
    ],
    sizes: ['mini', 'usual', 'family'],
    extra: { name: 'scent', values: ['cedar', 'citrus', 'jasmine'] },
  },
  electronics: {
    title: 'Electronics',
    aisle: 'Accessories',
    attributes: [
      'fast charging',
      'noise cancelling',
      'wireless',
      'water tight',
      'low energy',
      'compact',
      'backlit',
    ],
    sizes: ['one meter', 'two meters', 'three meters'],
    extra: { name: 'plug', values: ['type a', 'type c'] },
  },
  outdoors: {
    title: 'Outdoors',
    aisle: 'Camping',
    attributes: [
      'wind proof',
      'ultra light',
      'insulated',
      'tear resistant',
      'self inflating',
      'padded',
      'collapsible',
    ],
    sizes: ['one person', 'two persons', 'four persons'],
    extra: { name: 'season', values: ['summer', 'winter'] },
  },
}

/** Everything sold. */
export const wares: readonly Ware[] = [
  ['shirt', 'shirts', 'clothing', 20],
  ['jacket', 'jackets', 'clothing', 60],
  ['skirt', 'skirts', 'clothing', 30],
  ['sweater', 'sweaters', 'clothing', 35],
  ['glove', 'gloves', 'clothing', 12],
  ['mug', 'mugs', 'kitchen', 10],
  ['kettle', 'kettles', 'kitchen', 40],
  ['bowl', 'bowls', 'kitchen', 14],
  ['pan', 'pans', 'kitchen', 35],
  ['teapot', 'teapots', 'kitchen', 25],
  ['lamp', 'lamps', 'home', 45],
  ['rug', 'rugs', 'home', 80],
  ['pillow', 'pillows', 'home', 18],
  ['vase', 'vases', 'home', 22],
  ['stool', 'stools', 'home', 55],
  ['soap', 'soaps', 'beauty', 8],
  ['comb', 'combs', 'beauty', 7],
  ['lotion', 'lotions', 'beauty', 16],
  ['perfume', 'perfumes', 'beauty', 48],
  ['towel', 'towels', 'beauty', 13],
  ['speaker', 'speakers', 'electronics', 70],
  ['charger', 'chargers', 'electronics', 24],
  ['keyboard', 'keyboards', 'electronics', 65],
  ['headset', 'headsets', 'electronics', 85],
  ['cable', 'cables', 'electronics', 9],
  ['tent', 'tents', 'outdoors', 120],
  ['backpack', 'backpacks', 'outdoors', 75],
  ['lantern', 'lanterns', 'outdoors', 28],
  ['bottle', 'bottles', 'outdoors', 17],
  ['blanket', 'blankets', 'outdoors', 32],
].map(([noun, plural, department, price]) => ({ noun, plural, department, price }) as Ware)

export const colors: readonly string[] = [
  'black',
  'blue',
  'brown',
  'coral',
  'green',
  'ivory',
  'olive',
  'orange',
  'pink',
  'purple',
  'silver',
  'white',
  'yellow',
]

/** Makers, whose names mean nothing. */
export const brands: readonly string[] = [
  'Alvo',
  'Bexa',
  'Corvin',
  'Dorla',
  'Elmi',
  'Fento',
  'Galdi',
  'Hoxa',
  'Istra',
  'Jorvik',
  'Kelma',
  'Luvo',
]
