/**
 * A text grammar (`twl2`), read once: rules for texts, commands of actions.
 *
 * Invariants
 * - Where a rule is given twice, the later one counts.
 * - The placeholder of the task is all that may differ between games of one grammar.
 */
import { z } from 'zod'
import { TextAdventureFault } from './fault.ts'
import { parseQuery, parseSymbols, type Query, type TextSymbol } from './symbol.ts'

/** Marks the place of the task in a grammar. */
export const taskPlaceholder = '@@TASK@@'

/** One way to write a text, taken where its condition holds. */
interface Production {
  readonly condition: Query | undefined
  readonly symbols: readonly TextSymbol[]
}

/** The command of an action, and the text that follows it. */
export interface Wording {
  readonly template: readonly TextSymbol[]
  readonly feedback: readonly TextSymbol[]
}

export interface Grammar {
  readonly rules: ReadonlyMap<string, readonly Production[]>
  /** By the action's name in lower case. */
  readonly wordings: ReadonlyMap<string, Wording>
  /** Rules with the task in them, still as text. */
  readonly taskRules: readonly { readonly name: string; readonly texts: readonly ProductionText[] }[]
}

const productionText = z.object({ rhs: z.string(), condition: z.string().default('') })
const ruleTexts = z.record(z.string(), z.array(productionText))
type ProductionText = z.infer<typeof productionText>

const tokenPattern = /\s+|#[^\n]*|"""[\s\S]*?"""|"[^"]*"|::|[{};]|[\w/-]+/y

/** Reads a grammar. @throws TextAdventureFault bad_data, saying what it cannot read */
export function parseGrammar(text: string): Grammar {
  const texts = new Map<string, ProductionText[]>()
  const wordings = new Map<string, Wording>()
  const tokens = tokensOf(text)
  let at = 0
  const take = (expected?: string): string => {
    const token = tokens[at++]
    if (token === undefined || (expected !== undefined && token !== expected))
      throw new TextAdventureFault(
        'bad_data',
        `text grammar: expected ${expected ?? 'more'}, got ${token ?? 'its end'}`,
      )
    return token
  }
  const takeField = (): string => {
    take('::')
    const value = take()
    take(';')
    return value
  }
  while (at < tokens.length) {
    if (tokens[at] === 'grammar') {
      at++
      addRules(texts, takeField())
      continue
    }
    take('action')
    const name = take()
    take('{')
    const fields = new Map<string, string>()
    while (tokens[at] !== '}') {
      const field = take()
      fields.set(field, takeField())
    }
    take('}')
    const template = fields.get('template')
    const feedback = fields.get('feedback')
    if (template === undefined || feedback === undefined)
      throw new TextAdventureFault('bad_data', `text grammar: action ${name} needs a template and a feedback`)
    wordings.set(name.toLowerCase(), {
      template: parseSymbols(template.slice(1, -1)),
      feedback: parseSymbols(feedback.slice(1, -1)),
    })
    const block = fields.get('grammar')
    if (block !== undefined) addRules(texts, block)
  }
  const taskRules = [...texts]
    .filter(([, productions]) => productions.some(({ rhs }) => rhs.includes(taskPlaceholder)))
    .map(([name, productions]) => ({ name, texts: productions }))
  const rules = new Map([...texts].map(([name, productions]) => [name, productions.map(readProduction)]))
  return { rules, wordings, taskRules }
}

/** The grammar of one game. */
export function withTask(grammar: Grammar, task: string): Grammar {
  if (grammar.taskRules.length === 0) return grammar
  const rules = new Map(grammar.rules)
  for (const { name, texts } of grammar.taskRules) {
    const own = texts.map(({ rhs, condition }) => ({
      rhs: rhs.replaceAll(taskPlaceholder, () => task),
      condition,
    }))
    rules.set(name, own.map(readProduction))
  }
  return { ...grammar, rules }
}

function readProduction({ rhs, condition }: ProductionText): Production {
  return { condition: condition === '' ? undefined : parseQuery(condition), symbols: parseSymbols(rhs) }
}

function tokensOf(text: string): string[] {
  const tokens: string[] = []
  tokenPattern.lastIndex = 0
  for (let at = 0; at < text.length; at = tokenPattern.lastIndex) {
    const token = tokenPattern.exec(text)?.[0]
    if (token === undefined)
      throw new TextAdventureFault('bad_data', `text grammar: cannot read "${text.slice(at, at + 40)}"`)
    if (!/^[\s#]/.test(token)) tokens.push(token)
  }
  return tokens
}

function addRules(texts: Map<string, ProductionText[]>, block: string): void {
  const json = block
    .replace(/^"+|"+$/g, '')
    .split('\n')
    .filter((line) => !line.trimStart().startsWith('#'))
    .join('\n')
  let read: Record<string, ProductionText[]>
  try {
    read = ruleTexts.parse(JSON.parse(json))
  } catch (cause) {
    throw new TextAdventureFault(
      'bad_data',
      'text grammar: a block of rules is not the JSON that it should be',
      { cause },
    )
  }
  for (const [name, productions] of Object.entries(read)) texts.set(name, productions)
}
