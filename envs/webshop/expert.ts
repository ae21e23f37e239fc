/**
 * An expert shopper that knows the instruction and what the pages have shown, and nothing else.
 *
 * It searches in the words of the instruction and the options asked for, looks at the results whose titles share most words with it and
 * that are not too dear, and buys the first that offers every option asked for and whose texts have every word.
 *
 * Invariants
 * - It reads the original's page texts only; what it cannot read is undefined, never thrown.
 * - It always comes to an end: every result is looked at once.
 * - A demonstration earns the full reward; where the expert does not, there is none.
 */
import type { AssistantMessage, ToolCall } from '../../messages/message.ts'
import { termsOf } from '../../worlds/search/analyzer.ts'
import type { Demonstration, Environment, InstanceId } from '../contract/environment.ts'
import { clickCall, searchCall } from './tools.ts'

const separator = ' [SEP] '

export interface Expert {
  /** The next call, for the page's text; undefined when there is nothing left to try. */
  next(observation: string): ToolCall | undefined
}

/** The wish in an instruction, as far as its wording gives it. */
export interface Wish {
  /** The words to search for. */
  readonly words: string
  readonly options: readonly { readonly name: string; readonly value: string }[]
  readonly priceLimit: number
}

/** Reads an instruction. @example readWish('Find me soft hats with color: red').options // color red */
export function readWish(instruction: string): Wish {
  const [, wanted = '', limit] =
    /^(.*?)(?:, and price lower than ([\d.]+) dollars)?$/s.exec(instruction) ?? []
  const [, words = '', listed = ''] =
    /^(?:find me )?(.*?)(?: with ((?:(?! with )[^:])+: .*))?$/is.exec(wanted) ?? []
  const options = listed
    .split(', and ')
    .map((option) => /^([^:]+): (.*)$/s.exec(option))
    .flatMap((match) => (match === null ? [] : [{ name: match[1] ?? '', value: match[2] ?? '' }]))
  return { words, options, priceLimit: limit === undefined ? Number.POSITIVE_INFINITY : Number(limit) }
}

interface Candidate {
  readonly id: string
  readonly title: string
  /** Words of the wish that the title has. */
  readonly shared: number
  readonly page: number
}

/** The expert's present work with the candidate whose page is open. */
type Doing =
  | { readonly kind: 'choosing' }
  | { readonly kind: 'looking'; readonly candidate: Candidate; readonly page: string }
  | { readonly kind: 'buying'; readonly left: readonly string[] }

/** A fresh expert, for one instance. */
export function createExpert(): Expert {
  return new ShoppingExpert()
}

class ShoppingExpert implements Expert {
  #wish: Wish | undefined
  #terms: readonly string[] = []
  #doing: Doing = { kind: 'choosing' }
  readonly #tried = new Set<string>()

  next(observation: string): ToolCall | undefined {
    const segments = observation.split(separator)
    if (this.#wish === undefined) {
      const wish = readWish(segments[2] ?? '')
      this.#wish = wish
      this.#terms = [...new Set(termsOf(wish.words))]
      return searchCall([wish.words, ...wish.options.map(({ value }) => value)].join(' '))
    }
    const results = readResults(segments)
    if (results !== undefined) return this.#choose(results, this.#wish)
    const { kind } = this.#doing
    if (kind === 'buying') return this.#buy()
    return this.#judge(segments, this.#wish)
  }

  #choose(results: Results, wish: Wish): ToolCall | undefined {
    const candidates = results.products
      .filter(({ id, prices }) => !this.#tried.has(id) && Math.max(...prices) <= wish.priceLimit)
      .map(
        ({ id, title }): Candidate => ({ id, title, shared: this.#sharedTerms(title), page: results.page }),
      )
      .sort((one, other) => other.shared - one.shared)
    const [best] = candidates
    if (best === undefined) return results.last ? undefined : clickCall('Next >')
    this.#tried.add(best.id)
    this.#doing = { kind: 'looking', candidate: best, page: '' }
    return clickCall(best.id)
  }

  #sharedTerms(text: string): number {
    const had = new Set(termsOf(text))
    return this.#terms.filter((term) => had.has(term)).length
  }

  /** Buys, reads on or turns back, by what is known of the product so far. */
  #judge(segments: readonly string[], wish: Wish): ToolCall | undefined {
    if (this.#doing.kind !== 'looking') return undefined
    const { page } = this.#doing
    const isItem = segments.includes('Buy Now')
    if (!isItem) {
      // The page of features: back to the product, which is bought if nothing is missing.
      this.#doing = { ...this.#doing, page: `${page} ${segments.slice(4).join(' ')}` }
      return clickCall('< Prev')
    }
    const offered = wish.options.every(({ value }) => segments.includes(value))
    if (!offered) return clickCall('< Prev')
    const read = `${page} ${segments.join(' ').replace(segments[1] ?? '', '')}`
    if (this.#sharedTerms(read) === this.#terms.length) {
      this.#doing = { kind: 'buying', left: wish.options.map(({ value }) => value) }
      return this.#buy()
    }
    if (page !== '') return clickCall('< Prev')
    return clickCall('Features')
  }

  #buy(): ToolCall {
    const [value, ...left] = this.#doing.kind === 'buying' ? this.#doing.left : []
    if (value === undefined) return clickCall('Buy Now')
    this.#doing = { kind: 'buying', left }
    return clickCall(value)
  }
}

interface Results {
  readonly page: number
  readonly last: boolean
  readonly products: readonly {
    readonly id: string
    readonly title: string
    readonly prices: readonly number[]
  }[]
}

/** A page of results; undefined for any other page. */
function readResults(segments: readonly string[]): Results | undefined {
  const counted = /^Page (\d+) \(Total results: (\d+)\)$/.exec(segments[3] ?? '')
  if (counted === null) return undefined
  const first = segments.indexOf('Next >') + 1
  const products = []
  for (let at = first; at + 2 < segments.length; at += 3)
    products.push({
      id: segments[at] ?? '',
      title: segments[at + 1] ?? '',
      prices: (segments[at + 2] ?? '').split(' to ').map((price) => Number(price.replace('$', ''))),
    })
  return { page: Number(counted[1]), last: products.length === 0, products }
}

/** Turns after which an instance is given up: those of a training episode. */
const turnLimit = 20
/** Rewards are quotients: a full one may miss 1 by the last digits. */
const full = 1 - 1e-9

/** Plays an instance with the expert. */
export async function demonstrateByExpert(
  createSession: () => Environment,
  instance: InstanceId,
): Promise<Demonstration | undefined> {
  const session = createSession()
  try {
    const expert = createExpert()
    const actions: AssistantMessage[] = []
    let { info } = await session.reset(instance)
    while (actions.length < turnLimit) {
      const call = expert.next(String(info.observation))
      if (call === undefined) return undefined
      const action: AssistantMessage = { role: 'assistant', content: '', tool_calls: [call] }
      actions.push(action)
      const result = await session.step(action)
      if (result.done) return result.reward >= full ? { instance, actions } : undefined
      info = result.info
    }
    return undefined
  } finally {
    await session.close()
  }
}
