/**
 * Images of official items: AgentBench's own where the engine has them, else a Debian base.
 *
 * Invariants
 * - An image that the engine has is used as it is; nothing is downloaded behind the user's back.
 * - The base is made of what Debian's packages on this machine have installed, never of the machine's own files;
 *   where that is no Debian, by debootstrap, and kept in the task's folder.
 */
import { join } from 'node:path'
import type { Sandbox } from '../../../worlds/containers/sandbox.ts'
import { EnvironmentFault, type TaskOptions } from '../../contract/environment.ts'
import { withContainers } from './sandbox.ts'

/** The base; its name carries the version of the recipe. */
export const baseImage = 'perdure/os-debian:3'

/** The name that AgentBench gives the image of a recipe: `docker build -t local-os/default …`. */
export function publishedImage(recipe: string): string {
  return `local-os/${recipe}`
}

/** The calls of the engine that concern images. */
type Images = Pick<Sandbox, 'hasImage' | 'importImage'>

/**
 * The image of a recipe, each asked for once.
 * @param chosen the image that the user has set, for all recipes
 */
export function createImages(
  sandbox: Images,
  chosen: string | undefined,
  options: Pick<TaskOptions, 'folder' | 'leases'> = {},
): (recipe: string) => Promise<string> {
  const known = new Map<string, Promise<string>>()
  let base: Promise<string> | undefined
  return (recipe) => {
    let image = known.get(recipe)
    if (image === undefined) {
      image = find(sandbox, recipe, chosen, () => {
        base ??= makeBase(sandbox, options)
        return base
      })
      known.set(recipe, image)
      image.catch(() => known.delete(recipe))
    }
    return image
  }
}

async function find(
  sandbox: Images,
  recipe: string,
  chosen: string | undefined,
  base: () => Promise<string>,
): Promise<string> {
  if (chosen !== undefined) {
    if (await sandbox.hasImage(chosen)) return chosen
    throw new EnvironmentFault('bad_settings', `settings of os: the container engine has no image ${chosen}`)
  }
  const published = publishedImage(recipe)
  return (await sandbox.hasImage(published)) ? published : base()
}

/** The Debian base, made where the engine does not have it. @throws EnvironmentFault `backend` with what to do */
export async function makeBase(
  sandbox: Images,
  { folder, leases }: Pick<TaskOptions, 'folder' | 'leases'>,
): Promise<string> {
  if (await sandbox.hasImage(baseImage)) return baseImage
  const { debianTar, wanted } = await import('./debian.ts')
  try {
    await sandbox.importImage(baseImage, await debianTar())
    return baseImage
  } catch (fault) {
    if (!(fault instanceof EnvironmentFault) || folder === undefined) throw fault
    const { debianImage } = await import('../../../worlds/containers/debian-image.ts')
    return withContainers(() =>
      debianImage(sandbox, { packages: wanted, folder: join(folder, 'os'), leases }),
    )
  }
}
