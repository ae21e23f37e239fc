/**
 * A folder of the published shop, small or full.
 *
 * - Indexed documents: `documents*.json` or `documents*.jsonl`, products with the very text that is indexed.
 * - Or scraped items, as the original's set-up lays them out: `items_shuffle.json` or `items_shuffle_1000.json`
 *   with `items_ins_v2*.json` (attributes) and `items_human_ins.json` (what people wrote), in the folder or in
 *   its `data/`.
 * - Where they are there: `goals_synthetic*.json`, `human_goals*.json`, `product_prices.json`,
 *   `title_nouns_spacy.json`.
 *
 * Invariants
 * - A product that cannot be read is named in `warnings` and left out; the rest is offered.
 * - The largest file of products is taken; it is read as a stream.
 */
import { readdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'
import { reasonOf } from '../../../faults/reason.ts'
import { readText } from '../../../machine/files/text-file.ts'
import { EnvironmentFault } from '../../contract/environment.ts'
import { unreadableFolder } from '../../contract/library.ts'
import {
  type HumanInstruction,
  instructionsSchema,
  isLeftOut,
  type ProductRecord,
  readDocument,
  readItem,
} from '../shop/product.ts'
import { type Catalogue, CatalogueBuilder, officialWindow } from './catalogue.ts'
import {
  type GoalList,
  generatedGoals,
  humanGoals,
  type Instruction,
  listedGoals,
  type WrittenInstruction,
} from './goals.ts'
import { createNounReader, type NounReader, nounsSchema } from './nouns.ts'
import { RecordFile } from './record-file.ts'

export interface WebshopDataset {
  readonly catalogue: Catalogue
  readonly synthetic: GoalList
  readonly human: GoalList
  readonly nouns: NounReader
  /** Parts that were left out or are missing, each with its file. */
  readonly warnings: readonly string[]
  close(): void
}

// More of the same kind tell nothing new.
const warningLimit = 20

/**
 * Opens a folder.
 * @param productLimit so many products of the file are taken, from its start on
 * @throws EnvironmentFault bad_data where it holds no products
 */
export async function openDataset(dir: string, productLimit?: number): Promise<WebshopDataset> {
  const files = await findFiles(dir)
  const source = files.documents ?? files.items
  if (source === undefined)
    throw new EnvironmentFault(
      'bad_data',
      `webshop data: ${dir} holds no products; expected documents*.json, items_shuffle.json or items_shuffle_1000.json`,
    )
  const warnings: string[] = []
  const prices = await readJson(files.prices, z.record(z.string(), z.number()))
  const nouns = await readJson(files.nouns, nounsSchema)
  const written = await readJson(files.humanInstructions, z.record(z.string(), instructionsSchema))
  const isDocuments = source === files.documents
  const products = await readProducts({
    source,
    limit: productLimit ?? Number.POSITIVE_INFINITY,
    prices: new Map(Object.entries(prices ?? {})),
    written: written ?? {},
    read: isDocuments ? readDocument : undefined,
    attributes: files.attributes,
    warnings,
  })
  const listed = await readJson(files.syntheticGoals, z.array(z.unknown()))
  const humanList = await readJson(files.humanGoals, z.array(z.string()))
  if (nouns === undefined)
    warnings.push(
      `${path.join(dir, 'title_nouns_spacy.json')} is not there: nouns of titles are found by a JavaScript tagger, which changes some rewards`,
    )
  return {
    catalogue: products.catalogue,
    synthetic:
      listed === undefined || files.syntheticGoals === undefined
        ? generatedGoals(products.catalogue, products.asked, products.instructionOf)
        : listedGoals(files.syntheticGoals, listed),
    human: humanGoals(products.catalogue, products.written, humanList),
    nouns: createNounReader(new Map(Object.entries(nouns ?? {}))),
    warnings,
    close: products.close,
  }
}

interface ShopFiles {
  readonly documents?: string | undefined
  readonly items?: string | undefined
  readonly attributes?: string | undefined
  readonly humanInstructions?: string | undefined
  readonly syntheticGoals?: string | undefined
  readonly humanGoals?: string | undefined
  readonly prices?: string | undefined
  readonly nouns?: string | undefined
}

const patterns: Readonly<Record<keyof ShopFiles, RegExp>> = {
  documents: /^documents.*\.jsonl?$/,
  items: /^items_shuffle.*\.json$/,
  attributes: /^items_ins_v2.*\.json$/,
  humanInstructions: /^items_human_ins\.json$/,
  syntheticGoals: /^goals_synthetic.*\.json$/,
  humanGoals: /^human_goals.*\.json$/,
  prices: /^product_prices\.json$/,
  nouns: /^title_nouns_spacy\.json$/,
}

async function findFiles(dir: string): Promise<ShopFiles> {
  const found: { path: string; name: string; size: number }[] = []
  for (const folder of [dir, path.join(dir, 'data')]) {
    const names = await readdir(folder).catch((cause: unknown) =>
      folder === dir ? unreadableFolder('webshop', dir)(cause) : [],
    )
    for (const name of names) {
      const file = path.join(folder, name)
      const facts = await stat(file)
      if (facts.isFile()) found.push({ path: file, name, size: facts.size })
    }
  }
  found.sort((one, other) => other.size - one.size)
  const files: Record<string, string | undefined> = {}
  for (const [key, pattern] of Object.entries(patterns))
    files[key] = found.find(({ name }) => pattern.test(name))?.path
  return files
}

/** Reads and checks a file; undefined where there is none. @throws EnvironmentFault bad_data naming it */
async function readJson<Schema extends z.ZodType>(
  file: string | undefined,
  schema: Schema,
): Promise<z.infer<Schema> | undefined> {
  if (file === undefined) return undefined
  try {
    return schema.parse(JSON.parse(await readText(file)))
  } catch (cause) {
    throw unreadable(file, cause)
  }
}

function unreadable(file: string, cause: unknown): EnvironmentFault {
  const reason = cause instanceof z.ZodError ? z.prettifyError(cause).replaceAll('\n', ' ') : reasonOf(cause)
  return new EnvironmentFault(
    'bad_data',
    `webshop data: ${file} cannot be read; get the file again: ${reason}`,
    {
      cause,
    },
  )
}

interface Products {
  readonly catalogue: Catalogue
  /** Ids of products with a generated instruction, in the order of the catalogue. */
  readonly asked: readonly string[]
  readonly instructionOf: (productId: string) => Instruction
  readonly written: readonly WrittenInstruction[]
  readonly close: () => void
}

interface ProductSource {
  readonly source: string
  readonly limit: number
  readonly prices: ReadonlyMap<string, number>
  readonly written: Readonly<Record<string, readonly HumanInstruction[]>>
  /** Reads an indexed document; undefined where the source holds scraped items. */
  readonly read: ((value: unknown) => ProductRecord) | undefined
  readonly attributes: string | undefined
  readonly warnings: string[]
}

const attributesSchema = z.object({
  attributes: z.array(z.string()).optional(),
  instruction: z.string().nullish(),
  instruction_attributes: z.array(z.string()).nullish(),
})

async function readProducts(given: ProductSource): Promise<Products> {
  const builder = new CatalogueBuilder(given.prices)
  const ids: string[] = []
  const written: WrittenInstruction[] = []
  let seen = 0
  const file = await readingOf(given.source, false, ({ text }) => {
    if (seen >= given.limit) return undefined
    seen++
    try {
      const value: unknown = JSON.parse(text)
      if (given.read === undefined && isLeftOut(value)) return false
      const record = given.read?.(value) ?? readItem(value, [], given.written[idOf(value)] ?? [])
      if (!builder.add(record)) return false
      ids.push(record.product.id)
      for (const instruction of record.instructions)
        written.push({ productId: record.product.id, instruction })
      return true
    } catch (cause) {
      if (given.warnings.length < warningLimit)
        given.warnings.push(
          `${given.source}, product ${seen} is left out: ${cause instanceof z.ZodError ? z.prettifyError(cause) : String(cause)}`,
        )
      return false
    }
  })
  if (builder.size === 0)
    throw new EnvironmentFault(
      'bad_data',
      `webshop data: ${given.source} holds no products${given.warnings.length === 0 ? '' : `: ${given.warnings[0]}`}`,
    )
  const known = new Set(ids)
  const places = new Map<string, number>()
  const askedFor = new Set<string>()
  const attributes = await openAttributes(given.attributes, ({ name, text }) => {
    if (!known.has(name)) return false
    places.set(name, places.size)
    if (/"instruction"\s*:\s*"/.test(text)) askedFor.add(name)
    return true
  })
  const attributesOf = (id: string): z.infer<typeof attributesSchema> => {
    const place = places.get(id)
    return place === undefined || attributes === undefined
      ? {}
      : attributesSchema.parse(JSON.parse(attributes.read(place)))
  }
  const catalogue = builder.finish((position) => {
    const value: unknown = JSON.parse(file.read(position))
    return given.read?.(value) ?? readItem(value, attributesOf(ids[position] ?? '').attributes, [])
  }, officialWindow)
  return {
    catalogue,
    asked: ids.filter((id) => askedFor.has(id)),
    instructionOf: (id) => {
      const { instruction, instruction_attributes } = attributesOf(id)
      return { text: instruction ?? '', attributes: instruction_attributes ?? [] }
    },
    written,
    close: () => {
      file.close()
      attributes?.close()
    },
  }
}

function idOf(value: unknown): string {
  return z.object({ asin: z.string() }).safeParse(value).data?.asin ?? ''
}

type Visit = Parameters<typeof RecordFile.open>[2]

async function openAttributes(file: string | undefined, visit: Visit): Promise<RecordFile | undefined> {
  return file === undefined ? undefined : readingOf(file, true, visit)
}

async function readingOf(file: string, named: boolean, visit: Visit): Promise<RecordFile> {
  try {
    return await RecordFile.open(file, named, visit)
  } catch (cause) {
    throw cause instanceof EnvironmentFault ? cause : unreadable(file, cause)
  }
}
