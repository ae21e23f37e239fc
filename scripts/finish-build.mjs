/**
 * `npm run build`: what the compiler leaves to do.
 *
 * Invariants
 * - Every file of a folder `driver/` of the sources lies at the same place in `dist/`.
 * - Declarations import what is there: the compiler rewrites the endings of imports in code, not in them.
 */
import { cpSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const built = join(root, 'dist')

for (const file of globSync('envs/*/driver/*.py', { cwd: root })) cpSync(join(root, file), join(built, file))

for (const file of globSync('**/*.d.ts', { cwd: built })) {
  const text = readFileSync(join(built, file), 'utf8')
  writeFileSync(join(built, file), text.replaceAll(/(from |import\()(['"])(\.[^'"]*)\.ts\2/g, '$1$2$3.js$2'))
}
