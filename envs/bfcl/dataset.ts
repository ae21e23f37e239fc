/**
 * Which instances there are: the categories of a folder, or those of the package.
 *
 * Only names are read here. Questions and answers are read in Python, because their numbers would not survive
 * a journey through JavaScript.
 *
 * Invariants
 * - A split is a category, its instances in the order of the file, each named by the question's id.
 * - An instance that cannot be solved is offered all the same, as officially, and named in `warnings`.
 */
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'
import { reasonOf } from '../../faults/reason.ts'
import { readText } from '../../machine/files/text-file.ts'
import { EnvironmentFault, type InstanceId } from '../contract/environment.ts'
import { type Library, listedLibrary, unreadableFolder } from '../contract/library.ts'

/** The categories of the multi-turn part, which are the splits. */
export const categories = ['base', 'miss_func', 'miss_param', 'long_context'] as const

/** The package has as many questions in each category. */
const packagedSize = 200

/** Questions and answers are the package's own affair. */
export type BfclDataset = Pick<Library<InstanceId>, 'splits' | 'warnings' | 'instanceAt'>

/** The questions of the package itself. */
export const packagedDataset: BfclDataset = datasetOf(
  new Map(
    categories.map((category) => [
      category,
      Array.from({ length: packagedSize }, (_, index) => `multi_turn_${category}_${index}`),
    ]),
  ),
  [],
)

const questionSchema = z.object({
  id: z.string(),
  question: z.array(z.unknown()),
  involved_classes: z.array(z.string()),
})
const answerSchema = z.object({ id: z.string(), ground_truth: z.array(z.unknown()) })

/** Opens a folder in the published layout, v3 or v4. @throws EnvironmentFault bad_data, naming file and line */
export async function openDataset(dir: string): Promise<BfclDataset> {
  const names = await readdir(dir).catch(unreadableFolder('bfcl', dir))
  const instances = new Map<string, string[]>()
  const warnings: string[] = []
  for (const category of categories) {
    const file = names.find((name) => new RegExp(`^BFCL_v\\d+_multi_turn_${category}\\.json$`).test(name))
    if (file === undefined) continue
    const questions = await readLines(path.join(dir, file), questionSchema)
    const answers = await readLines(path.join(dir, 'possible_answer', file), answerSchema)
    const turns = new Map(answers.map(({ id, ground_truth }) => [id, ground_truth.length]))
    for (const { id, question } of questions)
      if (turns.get(id) !== question.length)
        warnings.push(
          `${id} of ${file} has ${question.length} turns and ${turns.get(id) ?? 'no'} answers: no play of it is graded right`,
        )
    instances.set(
      category,
      questions.map(({ id }) => id),
    )
  }
  if (instances.size === 0)
    throw new EnvironmentFault(
      'bad_data',
      `bfcl data: ${dir} has no file BFCL_v…_multi_turn_….json: give a folder with questions, possible_answer/ and multi_turn_func_doc/`,
    )
  return datasetOf(instances, warnings)
}

function datasetOf(
  instances: ReadonlyMap<string, readonly InstanceId[]>,
  warnings: readonly string[],
): BfclDataset {
  const named = [...instances].map(([split, ids]) => [split, new Map(ids.map((id) => [id, id]))] as const)
  return listedLibrary('bfcl data', 'problem', new Map(named), warnings)
}

async function readLines<T>(file: string, schema: z.ZodType<T>): Promise<T[]> {
  const text = await readText(file).catch((cause: unknown) => {
    throw new EnvironmentFault('bad_data', `bfcl data: ${reasonOf(cause)}`, { cause })
  })
  return text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return []
    try {
      return [schema.parse(JSON.parse(line))]
    } catch (cause) {
      throw new EnvironmentFault('bad_data', `bfcl data: ${file}, line ${index + 1} is no entry`, { cause })
    }
  })
}
