/**
 * Environments that live outside of Perdure, in a file, a folder or an installed package.
 *
 * Invariants
 * - Whatever of a module's exports is an environment is one of its environments; everything else is left alone.
 * - A module that has no environment, or one whose name is taken, is named with what to do.
 */
import { z } from 'zod'
import { type DeclaredMetric, metricsProblem } from '../../learning/evaluation/measure.ts'
import { ExternalFault, importModule } from '../../machine/modules/external-module.ts'
import { isRemoteAddress } from '../../machine/network/remote-address.ts'
import type { EnvironmentDefinition } from '../contract/environment.ts'
import { askedRoles } from '../contract/question.ts'
import { environments as builtIn } from '../registry.ts'
import type { RemoteReading } from '../remote/remote-environment.ts'
import { contained } from './contained.ts'

const text = z.string().min(1)
const namePattern = /^[a-z][a-z0-9_-]{0,39}$/

// Looser than the contract in what is called, exact in what is read before anything is called.
const definitionSchema = z.looseObject({
  name: z.string().regex(namePattern),
  summary: text,
  source: text,
  licence: text,
  reward: text,
  replayable: z.boolean(),
  replayableBecause: text,
  turnLimit: z.int().min(1),
  turnLimitCompletes: z.boolean().optional(),
  stepTimeoutSeconds: z.number().positive().optional(),
  asks: z.array(z.enum(askedRoles)).optional(),
  metrics: z
    .record(
      z.string(),
      z.custom<DeclaredMetric>((value) => typeof value === 'object' && value !== null),
    )
    .superRefine((metrics, context) => {
      const message = metricsProblem(metrics)
      if (message !== undefined) context.addIssue({ code: 'custom', message })
    })
    .optional(),
  open: z.custom<EnvironmentDefinition['open']>(
    (value) => typeof value === 'function',
    'expected a function',
  ),
})

/**
 * All environments that a module exports.
 * @param path of a module, or of a package's folder; absolute
 * @throws ExternalFault
 */
export async function loadEnvironments(path: string): Promise<readonly EnvironmentDefinition[]> {
  const exported = await importModule(path)
  const found = new Set<EnvironmentDefinition>()
  for (const [key, value] of Object.entries(exported)) {
    if (!looksLikeOne(value)) continue
    const result = definitionSchema.safeParse(value)
    if (!result.success)
      throw new ExternalFault(
        'bad_environment',
        `the environment \`${key}\` of ${path} is incomplete: ${z.prettifyError(result.error).replaceAll('\n', ' ')}; \`defineEnvironment\` fills in what is missing`,
        { cause: result.error },
      )
    found.add(value as unknown as EnvironmentDefinition)
  }
  if (found.size === 0)
    throw new ExternalFault(
      'no_environment',
      `${path} exports no environment: write \`export const … = defineEnvironment(…)\`; it exports ${Object.keys(exported).join(', ') || 'nothing'}`,
    )
  const names = [...found].map(({ name }) => name)
  for (const [index, name] of names.entries()) {
    if (names.indexOf(name) !== index)
      throw new ExternalFault('name_taken', `${path} exports two environments "${name}": rename one`)
    if (builtIn.some((known) => known.name === name))
      throw new ExternalFault(
        'name_taken',
        `${path} exports an environment "${name}", and Perdure has one of that name: rename it`,
      )
  }
  return [...found].map(contained)
}

/**
 * The environment of that name, of a module or of a server.
 * @param path of a module, or the address of a server
 * @throws ExternalFault, AddressFault
 */
export async function loadEnvironment(
  path: string,
  name: string,
  reading: RemoteReading = {},
): Promise<EnvironmentDefinition> {
  if (isRemoteAddress(path)) return await loadRemote(path, name, reading)
  const environments = await loadEnvironments(path)
  const found = environments.find((each) => each.name === name)
  if (found !== undefined) return found
  throw new ExternalFault(
    'unknown_environment',
    `${path} exports no environment "${name}": use ${environments.map((each) => each.name).join(', ')}`,
  )
}

/** @throws ExternalFault a name that another task has, or none can have */
async function loadRemote(
  address: string,
  name: string,
  reading: RemoteReading,
): Promise<EnvironmentDefinition> {
  const rename = `call it otherwise, and give the server's name after "#" (\`${address.split('#')[0]}#${name}\`)`
  if (builtIn.some((known) => known.name === name))
    throw new ExternalFault('name_taken', `Perdure has a task "${name}" of its own: ${rename}`)
  if (!namePattern.test(name))
    throw new ExternalFault(
      'unknown_environment',
      `"${name}" cannot name a task, which has up to 40 small letters, digits, "-" and "_", a letter first: ${rename}`,
    )
  const { remoteEnvironment } = await import('../remote/remote-environment.ts')
  return remoteEnvironment(address, name, reading)
}

function looksLikeOne(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && 'open' in value && 'name' in value
}
