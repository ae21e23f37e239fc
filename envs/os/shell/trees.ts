/**
 * Folders full of files, which generated problems ask about.
 *
 * Invariants
 * - No two files of a tree have the same path; a tree's own folder is distinguished from the rest by its name.
 */
import type { Draw } from '../../generated/draw.ts'
import { extensions, linesOf, nouns } from '../../generated/words.ts'
import type { WorldFile } from './world.ts'

/** How a tree is made. */
export interface TreeShape {
  /** Files in each folder. */
  readonly files: readonly [low: number, high: number]
  /** Folders below the top, nested or side by side; none by default. */
  readonly folders?: readonly [low: number, high: number]
  /** Extensions to choose from. */
  readonly extensions?: readonly string[]
  /** Share of files whose name starts with a dot. */
  readonly hidden?: number
}

/** A tree as it was made. */
export interface Tree {
  readonly top: string
  /** The top and what is below it. */
  readonly folders: readonly string[]
  readonly files: readonly WorldFile[]
}

// Where problems take place.
const places = ['/home/user', '/home/shared', '/srv', '/opt', '/var/data', '/var/lib', '/mnt']

/** The name of a folder that no other draw of the same problem is likely to give. */
export function folderPath(draw: Draw): string {
  return `${draw.one(places)}/${draw.one(nouns)}`
}

/** A tree, below a folder of its own. */
export function treeOf(draw: Draw, shape: TreeShape, top = folderPath(draw)): Tree {
  const folders = [top]
  const below = draw.int(...(shape.folders ?? [0, 0]))
  for (const name of draw.some(nouns, below)) folders.push(`${draw.one(folders)}/${name}`)
  const kinds = shape.extensions ?? draw.some(extensions, 3)
  const files = folders.flatMap((folder) => {
    const taken = new Set(folders)
    return draw
      .some(nouns, draw.int(...shape.files))
      .map((name): WorldFile => {
        const dot = draw.chance(shape.hidden ?? 0) ? '.' : ''
        return { path: `${folder}/${dot}${name}.${draw.one(kinds)}`, content: linesOf(draw, draw.int(0, 4)) }
      })
      .filter(({ path }) => !taken.has(path))
  })
  return { top, folders, files }
}
