/**
 * An item of AgentBench's os_interaction, as its own task code reads it.
 *
 * Invariants
 * - A script without a language is bash; a missing `create` is a plain machine, and so is one that is no object.
 * - `match` wins over `check`; a text to match is compared after trimming.
 * - A need beyond the defaults is named by the item, or follows from its own check; all else is denied.
 * - A last check that makes code of the agent's output is replaced by its corrected form (`corrected-checks.ts`).
 * - A `null` in a chain of checks means the example solution; an item without one is refused.
 */
import { z } from 'zod'
import { correctedCheck } from './corrected-checks.ts'
import { languages, type Script } from './script.ts'

/** Needs of an item beyond the defaults of its machine. */
export const needs = [
  /** Programs that take the rights of their owner, such as `sudo`. */
  'setuid',
] as const
export type Need = (typeof needs)[number]

/** How an item is graded. */
export type Evaluation =
  | { readonly kind: 'match'; readonly answer: string; readonly strip: boolean }
  | { readonly kind: 'regex'; readonly pattern: string; readonly strip: boolean }
  /** Each script gets the answer and the outputs of those before it; 'example' is the solution's. */
  | { readonly kind: 'check'; readonly chain: readonly (Script | 'example')[] }

/** One item, ready to be played. */
export interface OsItem {
  readonly id: string
  readonly description: string
  /** Name of the image's recipe: `default`, `packages` or `ubuntu`. */
  readonly image: string
  readonly init: readonly Script[]
  readonly start: Script | undefined
  readonly evaluation: Evaluation
  readonly example: Script | undefined
  /** Nothing where absent. */
  readonly needs?: readonly Need[]
}

/** Whether an answer is asked for; else something is to be done. */
export function isQuestion({ evaluation }: Pick<OsItem, 'evaluation'>): boolean {
  return evaluation.kind !== 'check' || evaluation.chain.includes('example')
}

const scriptSchema = z.union([
  z.string(),
  z.object({ language: z.enum(languages).optional(), file: z.string() }),
  z.object({ language: z.enum(languages).optional(), code: z.string() }),
])
type GivenScript = z.infer<typeof scriptSchema>

const createSchema = z.object({
  local: z.string().optional(),
  init: z.union([scriptSchema, z.array(scriptSchema)]).optional(),
})

const matchSchema = z.union([
  z.string(),
  z.object({ answer: z.string(), strip: z.boolean().default(true) }),
  z.object({ regex: z.string(), strip: z.boolean().default(true) }),
])

const checkedSchema = scriptSchema.nullable()

/** The fields of an item that are read; its other fields (labels, explanation) are for people. */
export const itemSchema = z.object({
  description: z.string(),
  // One published item has a list here, which AgentBench passes over.
  create: z.union([createSchema, z.array(z.unknown())]).optional(),
  start: scriptSchema.optional(),
  evaluation: z.object({
    match: matchSchema.optional(),
    check: z.union([checkedSchema, z.array(checkedSchema).min(1)]).optional(),
    example: scriptSchema.optional(),
  }),
  example: scriptSchema.optional(),
  /** Not part of AgentBench: for custom items. */
  needs: z.array(z.enum(needs)).optional(),
})

class MissingScript extends Error {}

/**
 * An item from what its file says.
 * @param scriptOf the text of a script that is named by file, undefined where there is none
 */
export function readItem(
  id: string,
  given: z.infer<typeof itemSchema>,
  scriptOf: (file: string) => string | undefined,
): OsItem | { readonly problem: string } {
  const read = (script: GivenScript): Script => {
    if (typeof script === 'string') return { language: 'bash', code: script }
    const language = script.language ?? 'bash'
    if ('code' in script) return { language, code: script.code }
    const code = scriptOf(script.file)
    if (code === undefined) throw new MissingScript(`there is no script ${script.file}`)
    return { language, code }
  }
  const { create, start, evaluation } = given
  const { init = [], local = 'default' } = create === undefined || Array.isArray(create) ? {} : create
  const example = evaluation.example ?? given.example
  try {
    const graded = evaluationOf(evaluation, read)
    if (typeof graded === 'string') return { problem: graded }
    return {
      id,
      description: given.description,
      image: local,
      init: (Array.isArray(init) ? init : [init]).map(read),
      start: start === undefined ? undefined : read(start),
      evaluation: graded,
      example: example === undefined ? undefined : read(example),
      ...needsOf(given.needs, graded),
    }
  } catch (cause) {
    if (cause instanceof MissingScript) return { problem: cause.message }
    throw cause
  }
}

function evaluationOf(
  { match, check, example }: z.infer<typeof itemSchema>['evaluation'],
  read: (script: GivenScript) => Script,
): Evaluation | string {
  if (typeof match === 'string') return { kind: 'match', answer: match, strip: true }
  if (match !== undefined) {
    if ('answer' in match) return { kind: 'match', ...match }
    if (!isPattern(match.regex)) return `match is no regular expression: ${match.regex}`
    return { kind: 'regex', pattern: match.regex, strip: match.strip }
  }
  if (check === undefined) return 'evaluation has neither match nor check'
  const given = Array.isArray(check) ? check : [check]
  const chain = given.flatMap((script, index): readonly (Script | 'example')[] => {
    if (script === null) return ['example']
    // Scripts after a corrected one would get the outputs before them in other places.
    return index === given.length - 1 ? correctedCheck(read(script)) : [read(script)]
  })
  if (chain.includes('example') && example === undefined) return 'a check is null, but there is no example'
  return { kind: 'check', chain }
}

/** `sudo` where a shell reads a command; a quote may begin one for another shell. */
const sudoCall = /(?:^|[;|&({!`'"]|\b(?:if|then|elif|else|while|until|do))\s*sudo\s/m

/** AgentBench's items name no needs: those whose check calls `sudo` cannot be fulfilled without it. */
function needsOf(
  given: readonly Need[] | undefined,
  evaluation: Evaluation,
): { readonly needs?: readonly Need[] } {
  const scripts = evaluation.kind === 'check' ? evaluation.chain : []
  const calls = scripts.some((script) => script !== 'example' && sudoCall.test(script.code))
  const all = new Set([...(given ?? []), ...(calls ? (['setuid'] as const) : [])])
  return all.size === 0 ? {} : { needs: [...all] }
}

function isPattern(text: string): boolean {
  try {
    new RegExp(text)
    return true
  } catch {
    return false
  }
}
