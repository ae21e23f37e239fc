/**
 * Builds the page of `perdure ui`: `node scripts/build-page.ts [FOLDER]`.
 *
 * Invariants
 * - [PAGEBUILD-1] A build is named by the content of its sources: the same content is built once, and other content
 *   is never taken for it.
 * - A folder appears whole: it is written beside its place and renamed, so that two builds at once do no harm.
 * - The page is one script and one style sheet; it names no other host.
 */
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'

const root = dirname(import.meta.dirname)
const page = join(root, 'dashboard', 'page')
const cache = join(root, 'node_modules', '.cache', 'perdure-page')
/** Files that are served as they are. */
const plainFiles = ['index.html', 'icon.svg']
/** Folders of builds that are kept: a server that still runs may serve an older one. */
const keptBuilds = 4

/** The folder that holds the page as it is now; built where it is not there yet. */
export async function builtPage(): Promise<string> {
  const folder = join(cache, contentOfSources())
  if (existsSync(folder)) return folder
  mkdirSync(cache, { recursive: true })
  removeOldBuilds()
  const beside = `${folder}.${process.pid}`
  await buildInto(beside)
  try {
    renameSync(beside, folder)
  } catch (error) {
    rmSync(beside, { recursive: true, force: true })
    // Another process was faster with the same content.
    if (!existsSync(folder)) throw error
  }
  return folder
}

/** A digest over all that the page is made of: its sources, what they import of the house, and the packages. */
function contentOfSources(): string {
  const hash = createHash('sha256')
  const imported = ['dashboard/**/*.{ts,tsx,css,html,svg}', 'learning/*.ts', 'messages/*.ts', 'identity/*.ts']
  const paths = imported.flatMap((pattern) => globSync(pattern, { cwd: root })).sort()
  for (const path of ['package-lock.json', 'scripts/build-page.ts', ...paths])
    hash
      .update(`${path}\0`)
      .update(readFileSync(join(root, path)))
      .update('\0')
  return hash.digest('hex').slice(0, 16)
}

function removeOldBuilds(): void {
  const builds = readdirSync(cache)
    .map((name) => join(cache, name))
    .sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)
  for (const build of builds.slice(keptBuilds)) rmSync(build, { recursive: true, force: true })
}

async function buildInto(folder: string): Promise<void> {
  await build({
    absWorkingDir: page,
    entryPoints: { page: 'main.tsx', 'page-style': 'style/page.css' },
    outdir: folder,
    bundle: true,
    minify: true,
    // A classic script: modules are not loaded from files, and a report is opened without a server.
    format: 'iife',
    target: ['chrome123', 'firefox121', 'safari17.5'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'warning',
    sourcemap: false,
  })
  renameSync(join(folder, 'page-style.css'), join(folder, 'page.css'))
  for (const name of plainFiles) cpSync(join(page, name), join(folder, name))
}

if (import.meta.main) {
  const [target] = process.argv.slice(2)
  const built = await builtPage()
  if (target === undefined) console.log(built)
  else {
    rmSync(target, { recursive: true, force: true })
    cpSync(built, target, { recursive: true })
  }
}
