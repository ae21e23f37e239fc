/**
 * Freebase's schema as AgentBench ships it beside its task: `vocab.json` and `fb_roles`.
 *
 * Invariants
 * - The files are read as published, from the data folder or its `ontology/`; without them there is no ontology.
 * - A relation leads to the type that `fb_roles` names third on its line.
 */
import path from 'node:path'
import { z } from 'zod'
import { reasonOf } from '../../../faults/reason.ts'
import { readText, TextFault } from '../../../machine/files/text-file.ts'
import { EnvironmentFault } from '../../contract/environment.ts'

export interface Ontology {
  /** Relations that get_relations may list. */
  readonly relations: ReadonlySet<string>
  /** Attributes that get_attributes may list. */
  readonly attributes: ReadonlySet<string>
  /** The type that each relation leads to. */
  readonly types: ReadonlyMap<string, string>
}

const vocabularySchema = z.object({ relations: z.array(z.string()), attributes: z.array(z.string()) })

/** The ontology of a data folder, undefined where there is none. @throws EnvironmentFault bad_data */
export async function readOntology(dir: string): Promise<Ontology | undefined> {
  for (const folder of [dir, path.join(dir, 'ontology')]) {
    const vocabulary = await textOf(path.join(folder, 'vocab.json'))
    const roles = await textOf(path.join(folder, 'fb_roles'))
    if (vocabulary === undefined || roles === undefined) continue
    const { relations, attributes } = parseVocabulary(vocabulary, path.join(folder, 'vocab.json'))
    const fields = roles.split('\n').map((line) => line.trim().split(/\s+/))
    const types = new Map(
      fields.flatMap(([, relation, type]) =>
        relation === undefined || type === undefined ? [] : [[relation, type] as const],
      ),
    )
    return { relations: new Set(relations), attributes: new Set(attributes), types }
  }
  return undefined
}

function parseVocabulary(text: string, file: string): z.infer<typeof vocabularySchema> {
  try {
    return vocabularySchema.parse(JSON.parse(text))
  } catch (cause) {
    throw new EnvironmentFault('bad_data', `kg data: ${file} is no {"relations": […], "attributes": […]}`, {
      cause,
    })
  }
}

async function textOf(file: string): Promise<string | undefined> {
  return readText(file).catch((cause: unknown) => {
    if (cause instanceof TextFault && cause.kind === 'missing') return undefined
    throw new EnvironmentFault('bad_data', `kg data: ${reasonOf(cause)}`, { cause })
  })
}
