/**
 * Checks of the container engine, for tasks that need one.
 *
 * Invariants
 * - Never wrong: most tasks need no engine.
 */

import { reasonOf } from '../../faults/reason.ts'
import type { EngineFacts } from '../../worlds/containers/engine.ts'
import { type Check, check } from './check.ts'

const name = 'containers'

/** @param address of the engine; that of `DOCKER_HOST` by default, else Docker's socket */
export async function examineContainers(address?: string): Promise<readonly Check[]> {
  const { connectEngine } = await import('../../worlds/containers/engine.ts')
  const { engineFacts } = await import('../../worlds/containers/engine.ts')
  const isNamed = (address ?? process.env.DOCKER_HOST) !== undefined
  try {
    const engine = await connectEngine(address)
    const facts = await engineFacts(engine)
    const found = `engine ${facts.version} at ${engine.address}, ${facts.storage}`
    if (!facts.hasSeccomp)
      return [
        check.warning(
          name,
          `${found}, without seccomp`,
          'No container starts without it: enable it in the engine.',
        ),
      ]
    return [check.fine(name, found), diskCheck(facts.sizes), usersCheck(facts.users)]
  } catch (error) {
    const reason = reasonOf(error)
    if (isNamed) return [check.warning(name, reason, 'Only tasks with containers need it.')]
    return [check.fine(name, 'no engine answers (optional): only official items of os need one')]
  }
}

function diskCheck(sizes: EngineFacts['sizes']): Check {
  const of = 'container disks'
  if (sizes === 'given') return check.fine(of, 'the engine limits each to its size')
  if (sizes === 'unknown') return check.fine(of, 'whether the engine limits them shows once it has an image')
  return check.fine(of, `watched by Perdure, because the engine limits none: ${sizes.refusal}`)
}

function usersCheck(users: EngineFacts['users']): Check {
  const of = 'container users'
  if (users === 'mapped') return check.fine(of, 'count as users of their own (userns-remap)')
  if (users === 'those of a user')
    return check.fine(of, 'count as those of the user that the engine belongs to (rootless)')
  return check.warning(
    of,
    "root of a container counts as root of the engine's machine, and shares what the kernel allows each user",
    'Set userns-remap for the engine: docs/containers.md, "Users of the engine\'s machine".',
  )
}
