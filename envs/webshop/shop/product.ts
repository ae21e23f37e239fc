/**
 * A product, as its pages show it and as purchases are judged.
 *
 * Invariants
 * - A product is plain data; both published forms, the scraped item and the indexed document, give the same.
 * - Names and values of options are in lower case, because clicks are.
 */
import { z } from 'zod'
import { floatText, strip } from './python-text.ts'

export interface Review {
  readonly title: string
  readonly score: string
  readonly body: string
}

export interface Product {
  /** Amazon's id in upper case; a built-in product has a shorter one of the same alphabet. */
  readonly id: string
  readonly title: string
  readonly description: string
  readonly features: readonly string[]
  readonly reviews: readonly Review[]
  readonly rating: string
  /** As the pages print it: one price or a range. */
  readonly priceTag: string
  /** One price in dollars, or the two ends of a range. */
  readonly prices: readonly number[]
  readonly category: string
  /** The search that found the product when the shop was made; products with the same one are of a kind. */
  readonly query: string
  /** Path of categories, separated by ›. */
  readonly categoryPath: string
  readonly options: ReadonlyMap<string, readonly string[]>
  readonly attributes: readonly string[]
  readonly image: string
}

/** A person's request for a product. */
export interface HumanInstruction {
  readonly text: string
  readonly attributes: readonly string[]
  readonly options: readonly string[]
}

/** A product as a file gives it. */
export interface ProductRecord {
  readonly product: Product
  /** The very text that is indexed. */
  readonly indexed: string
  readonly instructions: readonly HumanInstruction[]
}

const reviewSchema = z
  .object({
    title: z.coerce.string().catch(''),
    score: z.unknown(),
    stars: z.unknown(),
    body: z.unknown(),
    review: z.unknown(),
  })
  .transform(({ title, score, stars, body, review }): Review => {
    const given = score ?? stars
    return {
      title,
      score: typeof given === 'string' || typeof given === 'number' ? String(given) : '',
      body: String(body ?? review ?? ''),
    }
  })

/** The instructions of a product, as both forms have them. */
export const instructionsSchema = z.array(
  z
    .object({
      instruction: z.string(),
      instruction_attributes: z.array(z.string()),
      instruction_options: z.array(z.string()),
    })
    .transform(
      ({ instruction, instruction_attributes, instruction_options }): HumanInstruction => ({
        text: instruction,
        attributes: instruction_attributes,
        options: instruction_options,
      }),
    ),
)

const documentSchema = z.object({
  id: z.string(),
  contents: z.string(),
  product: z.object({
    Title: z.string(),
    Description: z.string(),
    BulletPoints: z.array(z.string()),
    Reviews: z.array(reviewSchema).default([]),
    Rating: z.union([z.string(), z.number()]).transform(String),
    Price: z.string(),
    pricing: z.array(z.number().nonnegative()).min(1).max(2),
    category: z.string(),
    query: z.string(),
    product_category: z.string(),
    options: z.record(z.string(), z.array(z.string())),
    Attributes: z.array(z.string()),
    MainImage: z.string().default(''),
    instructions: instructionsSchema.default([]),
  }),
})

/** Reads a document of the index. @throws ZodError naming the field */
export function readDocument(value: unknown): ProductRecord {
  const { id, contents, product: given } = documentSchema.parse(value)
  return {
    product: {
      id,
      title: given.Title,
      description: given.Description,
      features: given.BulletPoints,
      reviews: given.Reviews,
      rating: given.Rating,
      priceTag: given.Price,
      prices: given.pricing,
      category: given.category,
      query: given.query,
      categoryPath: given.product_category,
      options: new Map(Object.entries(given.options)),
      attributes: given.Attributes,
      image: given.MainImage,
    },
    indexed: contents,
    instructions: given.instructions,
  }
}

const itemSchema = z.object({
  asin: z.string(),
  name: z.string(),
  full_description: z.string().nullish(),
  small_description: z.union([z.array(z.string()), z.string()]).nullish(),
  pricing: z.string().nullish(),
  category: z.string(),
  query: z.string(),
  product_category: z.string(),
  customization_options: z
    .union([z.record(z.string(), z.array(z.looseObject({ value: z.string() })).nullable()), z.string()])
    .nullish(),
  images: z.array(z.string()).nullish(),
})

/** Whether an item is left out, as the original loader does: it has no usable id. */
export function isLeftOut(value: unknown): boolean {
  const asin = z.object({ asin: z.string() }).safeParse(value).data?.asin
  return asin === 'nan' || (asin !== undefined && asin.length > 10)
}

/** Reads a scraped item. @param attributes those found for it; a placeholder where there are none */
export function readItem(
  value: unknown,
  attributes: readonly string[] | undefined,
  instructions: readonly HumanInstruction[],
): ProductRecord {
  const item = itemSchema.parse(value)
  const features = Array.isArray(item.small_description)
    ? item.small_description
    : [item.small_description ?? '']
  const prices = readPrices(item.pricing)
  const options = readOptions(item.customization_options)
  const description = item.full_description ?? ''
  const listed = [...options].map(([name, values]) => `${name}: ${values.join(', ')}`).join(', and ')
  return {
    product: {
      id: item.asin,
      title: item.name,
      description,
      features,
      reviews: [],
      rating: 'N.A.',
      priceTag: prices.map((price) => `$${floatText(price)}`).join(' to '),
      prices,
      category: item.category,
      query: strip(item.query.toLowerCase()),
      categoryPath: item.product_category,
      options,
      attributes: attributes ?? ['DUMMY_ATTR'],
      image: item.images?.[0] ?? '',
    },
    indexed: [item.name, description, features[0] ?? '', listed].join(' ').toLowerCase(),
    instructions,
  }
}

// The shop's price for a product without one.
const unknownPrice = 100

const onePrice = /^[^\d.,]*(\d+|\d{1,3}(?:,\d{3})+)((?:\.\d+)?)[^\d]*$/

/** "$19.99 - $27.99" is two prices; of more than two the first two count. @throws Error for a price that cannot be read */
function readPrices(text: string | null | undefined): number[] {
  if (text === null || text === undefined || text === '') return [unknownPrice]
  const prices = text
    .split('$')
    .slice(1)
    .map((part) => {
      const [, whole = '', cents = ''] = onePrice.exec(part) ?? []
      if (whole === '')
        throw new Error(`its price is ${JSON.stringify(text)}: expected "$19.99" or "$19.99 - $27.99"`)
      return Number(whole.replaceAll(',', '') + cents)
    })
  if (prices.length === 0)
    throw new Error(`its price is ${JSON.stringify(text)}: expected "$19.99" or "$19.99 - $27.99"`)
  return prices.slice(0, 2)
}

function readOptions(given: z.infer<typeof itemSchema>['customization_options']): Map<string, string[]> {
  const options = new Map<string, string[]>()
  if (typeof given !== 'object' || given === null) return options
  for (const [name, contents] of Object.entries(given))
    if (contents !== null)
      options.set(
        name.toLowerCase(),
        contents.map(({ value }) => strip(value).replaceAll('/', ' | ').toLowerCase()),
      )
  return options
}

export interface Shop {
  readonly size: number
  /** Results of a page. */
  readonly pageSize: number
  /** Ids of what the keywords find, the best first; at most so many as the shop shows. */
  find(keywords: string): readonly string[]
  /** The product of an id that `find` gave. */
  product(id: string): Product
  /** The price of a product in dollars; one price even where its page shows a range. */
  price(id: string): number
}
