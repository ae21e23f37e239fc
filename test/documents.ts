/** The documents whose commands, links and named files the tests check: README, CONTRIBUTING, the documentation and the research diary. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../machine/package-root.ts'

function pagesOf(folder: string): string[] {
  return readdirSync(join(packageRoot, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`)
}

export const documents: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  ...pagesOf('docs'),
  ...pagesOf('research'),
]
