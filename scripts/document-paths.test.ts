/** Documents name code that exists: files, the functions of the map from the paper, rooms and headings. They stay short. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { documentation, documents } from '../test/support/documents.ts'

const root = resolve(import.meta.dirname, '..')
const folders = readdirSync(root, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
  .map(({ name }) => name)

function textOf(document: string): string {
  return readFileSync(join(root, document), 'utf8')
}

/** The anchor that GitHub gives to a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}

test('the documentation is at most 24 pages with 30,000 words', () => {
  expect(documentation.length).toBeLessThanOrEqual(24)
  const words = documentation.flatMap((page) =>
    textOf(page)
      .split(/\s+/)
      .filter((word) => word !== ''),
  )
  expect(words.length).toBeLessThanOrEqual(30_000)
})

test('the index of the research diary lists each of its entries', () => {
  const index = textOf('research/README.md')
  const entries = documents.filter((page) => /^research\/\d/.test(page)).map((page) => basename(page))
  expect(entries.filter((entry) => !index.includes(`](${entry})`))).toEqual([])
})

test('the architecture fits on 200 lines', () => {
  expect(textOf('docs/architecture.md').trimEnd().split('\n').length).toBeLessThanOrEqual(200)
})

test('results are five tables on 120 lines', () => {
  const results = textOf('docs/results.md')
  expect(results.trimEnd().split('\n').length).toBeLessThanOrEqual(120)
  expect(results.match(/^\| ---/gm)).toHaveLength(5)
})

test.each(documents)('%s: each code file that it names exists', (document) => {
  const paths = [...textOf(document).matchAll(/[\w@./-]*\b([a-z-]+)\/[\w./-]*\.(?:ts|mjs)\b/g)]
    .filter(([path, folder = '']) => path.startsWith(`${folder}/`) && folders.includes(folder))
    .map(([path]) => path)
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([])
})

test('each code file that a comment names is there', () => {
  const files = execFileSync('git', ['ls-files', '*.ts', '*.mjs'], { cwd: root, encoding: 'utf8' })
    .trim()
    .split('\n')
  const known = new Set([...files, ...files.map((file) => basename(file))])
  // The tests of the arrows plant files, those of scripts make some up.
  const lost = files
    .filter((file) => !file.startsWith('scripts/'))
    .flatMap((file) =>
      [...textOf(file).matchAll(/`([\w./-]+\.(?:ts|mjs))`/g)]
        .map(([, named = '']) => named)
        .filter((named) => !known.has(named) && !existsSync(join(root, dirname(file), named)))
        .map((named) => `${file}: ${named}`),
    )
  expect(lost).toEqual([])
})

test.each(documents)('%s: each heading that it links to exists', (document) => {
  const links = [...textOf(document).matchAll(/\]\(([\w./-]*)#([^)\s]+)\)/g)]
  for (const [link, file = '', anchor] of links) {
    const target = file === '' ? document : join(dirname(document), file)
    const anchors = [...textOf(target).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading))
    expect(anchors, link).toContain(anchor)
  }
})

/** The files of the map from the paper to the code, each with its functions. */
function mapFromThePaper(): ReadonlyMap<string, readonly string[]> {
  const rows = [...textOf('README.md').matchAll(/^\| [^|]*\| `([\w./-]+\.ts)` \| (.+) \|$/gm)]
  return new Map(rows.map(([, file = '', names = '']) => [file, codeIn(names)] as const))
}

function codeIn(text: string): readonly string[] {
  return [...text.matchAll(/`([\w./-]+)`/g)].map(([, code = '']) => code)
}

test('the map from the paper to the code names functions of its files', () => {
  const map = mapFromThePaper()
  expect(map.size).toBeGreaterThan(9)
  for (const [file, names] of map)
    for (const name of names)
      expect(textOf(file), `${name} in ${file}`).toMatch(
        new RegExp(`^export (?:async )?(?:function|interface|type) ${name}\\b`, 'm'),
      )
})

test('the header of the training run has the same map', () => {
  const [header = ''] = /(?<=From the paper).*?(?=\*\/)/s.exec(textOf('workflows/run/training-run.ts')) ?? []
  const map = mapFromThePaper()
  for (const code of codeIn(header))
    if (code.endsWith('.ts'))
      expect([...map.keys()]).toContain(code.includes('/') ? code : `workflows/${code}`)
    else expect([...map.values()].flat()).toContain(code)
  expect(codeIn(header).length).toBeGreaterThan(20)
})

/** The last cell of each row of the table of rooms, by room. */
function tableOfRooms(): ReadonlyMap<string, string> {
  const rows = [
    ...textOf('docs/architecture.md').matchAll(/^\| ((?:`[a-z]+\/`(?:, )?)+) \|.*\| ([^|]*) \|$/gm),
  ]
  return new Map(
    rows.flatMap(([, cell = '', last = '']) => roomsIn(cell).map((room) => [room, last] as const)),
  )
}

function roomsIn(cell: string): readonly string[] {
  return [...cell.matchAll(/`([a-z]+)\/`/g)].map(([, room = '']) => room)
}

interface Rule {
  readonly from: { readonly path?: unknown }
  readonly to: { readonly pathNot?: unknown }
}

/** The rules as dependency-cruiser has them. */
function rules(): readonly Rule[] {
  const script = `import('./.dependency-cruiser.mjs').then((m) => console.log(JSON.stringify(m.default.forbidden)))`
  return JSON.parse(execFileSync(process.execPath, ['-e', script], { cwd: root, encoding: 'utf8' }))
}

test('the table of rooms says which imports are allowed, as they are checked', () => {
  const allowed = new Map<string, Set<string>>()
  for (const { from, to } of rules()) {
    const [, room] = /^\^([a-z]+)\/$/.exec(String(from.path)) ?? []
    if (room === undefined || !Array.isArray(to.pathNot)) continue
    const others = to.pathNot.flatMap((path) => /^\^([a-z]+)\//.exec(String(path))?.[1] ?? [])
    if (others[0] !== room) continue
    allowed.set(room, new Set([...(allowed.get(room) ?? []), ...others.slice(1)]))
  }
  expect(allowed.size).toBeGreaterThan(10)
  const table = tableOfRooms()
  for (const [room, others] of allowed)
    expect([...roomsIn(table.get(room) ?? '')].sort(), `${room}/`).toEqual([...others].sort())
})

test('the table of rooms has each room whose imports are checked', () => {
  const house = rules().map(({ from }) => /^\^\(\(([a-z|]+)\)\//.exec(String(from.path))?.[1])
  const checked = house.find((list) => list !== undefined)?.split('|') ?? []
  const built = checked.filter((room) => folders.includes(room))
  expect([...tableOfRooms().keys()].sort()).toEqual([...built, 'bench', 'examples', 'scripts', 'test'].sort())
})
