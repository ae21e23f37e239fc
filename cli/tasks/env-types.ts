/**
 * The types of an environment, checked by the author's TypeScript or by the one beside Perdure.
 *
 * Invariants
 * - [ENV-TYPES-1] The author's own tsconfig.json counts where there is one; `perdure` always means this Perdure, with its types.
 * - [ENV-TYPES-2] Without TypeScript or the types of Node nothing is checked, and the command that installs them is named.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { packageRoot } from '../../machine/files/package-root.ts'

/** Options of a new environment: those that Node's own reading of TypeScript asks for. */
export const compilerOptions = {
  target: 'es2024',
  lib: ['es2024', 'esnext.disposable'],
  module: 'nodenext',
  types: ['node'],
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  allowImportingTsExtensions: true,
  erasableSyntaxOnly: true,
  verbatimModuleSyntax: true,
} as const

/** How a check ended. */
export type TypeCheck = 'right' | 'wrong' | { readonly unchecked: string }

/** Checks all TypeScript of a folder; the compiler writes what is wrong to this process's streams. */
export async function checkTypes(folder: string): Promise<TypeCheck> {
  const files = globSync('**/*.{ts,mts}', { cwd: folder, exclude: ['**/node_modules/**'] })
  if (files.length === 0) return 'right'
  const compiler = installedFor(folder, join('typescript', 'bin', 'tsc'))
  const nodeTypes = installedFor(folder, join('@types', 'node'))
  if (compiler === undefined || nodeTypes === undefined)
    return {
      unchecked: 'install TypeScript to check the types too: npm install --save-dev typescript @types/node',
    }
  const beside = mkdtempSync(join(tmpdir(), 'perdure-types-'))
  try {
    const own = join(folder, 'tsconfig.json')
    const config = {
      ...(existsSync(own) ? { extends: own } : {}),
      compilerOptions: {
        ...(existsSync(own) ? { noEmit: true } : compilerOptions),
        typeRoots: [dirname(nodeTypes)],
        ...(installedAbove(folder, 'perdure') === undefined
          ? { paths: { perdure: [typesOfPerdure()] } }
          : {}),
      },
      files: files.map((file) => join(folder, file)),
    }
    const project = join(beside, 'tsconfig.json')
    writeFileSync(project, JSON.stringify(config))
    const child = spawn(process.execPath, [compiler, '-p', project], { stdio: 'inherit', cwd: folder })
    const [code] = await once(child, 'close')
    return code === 0 ? 'right' : 'wrong'
  } finally {
    rmSync(beside, { recursive: true, force: true })
  }
}

/** Where an installed package has a file, as seen from a folder. @example installedAbove('my-game', 'perdure') */
export function installedAbove(folder: string, path: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    const found = join(at, 'node_modules', path)
    if (existsSync(found)) return found
    if (at === dirname(at)) return undefined
  }
}

/** The author's own version first. */
export function installedFor(folder: string, path: string): string | undefined {
  return installedAbove(folder, path) ?? installedAbove(packageRoot, path)
}

/** The sources in a checkout, the built declarations in a package. */
function typesOfPerdure(): string {
  const sources = join(packageRoot, 'index.ts')
  return existsSync(sources) ? sources : join(packageRoot, 'dist', 'index.d.ts')
}
