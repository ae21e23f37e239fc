/** The documents whose commands, links and named files the tests check. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../machine/files/folder.ts'

function pagesOf(folder: string): string[] {
  return readdirSync(join(packageRoot, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`)
}

/** The pages of `docs/`, by their path from the repository's root. */
export const documentation: readonly string[] = pagesOf('docs')

export const documents: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  ...documentation,
  ...pagesOf('bench'),
  ...pagesOf('research'),
  ...pagesOf('trainers'),
  ...pagesOf('trainers/pytorch'),
]
