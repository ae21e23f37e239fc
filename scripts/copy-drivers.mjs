/**
 * `npm run build`: what is not TypeScript goes where the built files look for it.
 *
 * Invariants
 * - Every file of a folder `driver/` of `src/` lies at the same place in `dist/`.
 */
import { cpSync, globSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

for (const file of globSync('**/driver/*.py', { cwd: join(root, 'src') }))
  cpSync(join(root, 'src', file), join(root, 'dist', file))
