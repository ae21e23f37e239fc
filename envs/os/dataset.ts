/**
 * AgentBench's items from their folder: `data/…` and `train_…/…` with JSON lists of items, `scripts/…` with
 * the scripts that items name.
 *
 * Invariants
 * - An id is `<json path relative to the folder>#<position>`, positions as they are in the file.
 * - An item or file that cannot be used is named in `warnings` and left out; the rest is offered.
 * - Nothing outside of `scripts/` is read as a script.
 * - It reads the text of a script and claims too much rather than too little: what it finds is a warning for the item's
 *   author, and no item is left out.
 */
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'
import { reasonOf } from '../../faults/reason.ts'
import { readText } from '../../machine/files/text-file.ts'
import type { InstanceId } from '../contract/environment.ts'
import {
  emptyFolder,
  inUsualOrder,
  type Library,
  listedLibrary,
  unreadableFolder,
  Warnings,
} from '../contract/library.ts'
import { itemSchema, type OsItem, readItem } from './item.ts'
import type { Script } from './script.ts'

/** Folders that hold no items. */
const otherFolders = new Set(['scripts', 'res'])

/** The usual order of splits; others follow by name. */
const knownSplits = ['train', 'dev', 'std']

/** Opens a folder of items. @throws EnvironmentFault bad_data where it holds none */
export async function openDataset(dir: string): Promise<Library<OsItem>> {
  const warnings = new Warnings('os')
  const scripts = await readScripts(path.join(dir, 'scripts'))
  const items = new Map<string, Map<InstanceId, OsItem>>()
  for (const file of await itemFiles(dir)) {
    const unusable: string[] = []
    let used = 0
    const list = await readList(path.join(dir, file), unusable)
    const split = splitOf(file)
    for (const [position, value] of list.entries()) {
      const id = `${file}#${position}`
      const parsed = itemSchema.safeParse(value)
      const read = parsed.success
        ? readItem(id, parsed.data, (name) => scriptFor(scripts, file, name))
        : { problem: z.prettifyError(parsed.error).replaceAll('\n', ' ') }
      if ('problem' in read) {
        unusable.push(`${path.join(dir, file)}, item ${position}: ${read.problem}`)
        continue
      }
      used++
      items.set(split, (items.get(split) ?? new Map<InstanceId, OsItem>()).set(id, read))
      const weakness = weaknessOf(read)
      if (weakness !== undefined) warnings.add(`${path.join(dir, file)}, item ${position}: ${weakness}`)
    }
    warnings.addOf(path.join(dir, file), unusable, used)
  }
  if (items.size === 0) {
    const expected = 'data/dev.json or train_…/training.json, and scripts/'
    throw emptyFolder('os', dir, { what: 'items', expected, warnings: warnings.all() })
  }
  return listedLibrary(`os data: ${dir}`, 'item', inUsualOrder(items, knownSplits), warnings.all())
}

/** The way in which a check could pay without the work; undefined when none was found. */
function weaknessOf({ evaluation }: OsItem): string | undefined {
  for (const script of evaluation.kind === 'check' ? evaluation.chain : []) {
    const code = script === 'example' ? undefined : codeFromOutput(script)
    if (code !== undefined)
      return `its check puts what it reads into ${code}, so output of the agent's work may decide: pass it as an argument, quoted`
  }
  return undefined
}

/** `data/dev.json` is dev, `data/<n>/…` std, `train…/…` train; any other file is a split of its own folder. */
function splitOf(file: string): string {
  const [top = '', second = ''] = file.split('/')
  if (top.startsWith('train')) return 'train'
  if (top === 'data' && /^\d+$/.test(second)) return 'std'
  if (top === 'data') return second.replace(/\.jsonl?$/, '')
  return top.replace(/\.jsonl?$/, '')
}

/** Paths with `/`, relative to the folder, in order. */
async function itemFiles(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true }).catch(
    unreadableFolder('os', dir),
  )
  return entries
    .filter((entry) => entry.isFile() && /\.jsonl?$/.test(entry.name))
    .map((entry) => path.relative(dir, path.join(entry.parentPath, entry.name)).split(path.sep).join('/'))
    .filter((file) => !otherFolders.has(file.split('/')[0] ?? ''))
    .sort()
}

async function readList(file: string, unusable: string[]): Promise<readonly unknown[]> {
  try {
    const text = await readText(file)
    if (file.endsWith('.jsonl'))
      return text.split('\n').flatMap((line): unknown[] => (line.trim() === '' ? [] : [JSON.parse(line)]))
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) ? value : [value]
  } catch (cause) {
    unusable.push(`${file}: ${reasonOf(cause)}`)
    return []
  }
}

/** Texts of scripts by `<group>/<name>`, such as `dev/check/0.sh`. */
async function readScripts(dir: string): Promise<ReadonlyMap<string, string>> {
  const scripts = new Map<string, string>()
  const entries = await readdir(dir, { recursive: true, withFileTypes: true }).catch(() => [])
  for (const entry of entries) {
    if (!entry.isFile() || !/\.(sh|py|c|cpp|cc)$/.test(entry.name)) continue
    const file = path.join(entry.parentPath, entry.name)
    scripts.set(path.relative(dir, file).split(path.sep).join('/'), await readText(file))
  }
  return scripts
}

/**
 * The script that an item of a file names: from the group that AgentBench's configuration gives the file
 * (`data/dev.json` → dev, `data/<n>/…` → n), else from the first group that has it.
 */
function scriptFor(scripts: ReadonlyMap<string, string>, file: string, name: string): string | undefined {
  const parts = file.replace(/\.jsonl?$/, '').split('/')
  const groups = [...new Set([...scripts.keys()].map((key) => key.split('/')[0] ?? ''))].sort()
  for (const group of [...parts.toReversed(), 'dev', ...groups]) {
    const text = scripts.get(`${group}/${name}`)
    if (text !== undefined) return text
  }
  return undefined
}

/** An expansion of a shell; in arithmetic the content of a variable is an expression itself, and may hold commands. */
const expansion = String.raw`(?:\$[({A-Za-z_0-9@*]|\x60)`

const quoted = String.raw`"(?:[^"\\]|\\.)*?${expansion}`

const inShell: Readonly<Record<string, RegExp>> = {
  'the text of another program': new RegExp(
    String.raw`(?:\b(?:python3?|perl|ruby|node|php|bash|sh|su|runuser)\b[^\n;|&"']*\s-\w*[ce]|\b[gm]?awk(?:\s+-\S+)*|\b(?:bc|dc)\s*<<<)\s*${quoted}`,
  ),
  'the input of an interpreter': new RegExp(
    String.raw`${expansion}[^\n;&]*\|\s*(?:bc|dc|sh|bash|python3?|perl)\s*(?:$|[;&|)\x60-])`,
    'm',
  ),
  '`eval`': /(?:^|[\s;&|(])eval\s/m,
  'a file that it sources': /(?:^|[;&|({]\s*)(?:source|\.)\s+\S/m,
  arithmetic: new RegExp(
    String.raw`\(\([^\n]*?(?:\$\((?!\()|\x60|\$\d)|\[\[[^\n\]]*${expansion}[^\n\]]*\s-(?:eq|ne|lt|le|gt|ge)\s|\[\[[^\n\]]*\s-(?:eq|ne|lt|le|gt|ge)\s[^\n\]]*${expansion}`,
  ),
  'a condition, unquoted': new RegExp(
    String.raw`(?:^|[;&|(!]\s*|\b(?:if|while|until|elif)\s+)(?:\[|test)\s(?:"[^"\n]*"|'[^'\n]*'|[^"'\n\]])*?${expansion}`,
    'm',
  ),
}

const inPython: Readonly<Record<string, RegExp>> = {
  '`eval`': /(?<![.\w])(?:eval|exec)\s*\(/,
  "a shell's text": /\bos\.(?:system|popen)\s*\(|shell\s*=\s*True/,
}

/** Describes how the script turns its input into code; undefined when it does not. */
export function codeFromOutput({ language, code }: Script): string | undefined {
  const rules = language === 'bash' ? inShell : language === 'python' ? inPython : {}
  const read = language === 'bash' ? withoutComments(code) : code
  return Object.keys(rules).find((what) => rules[what]?.test(read))
}

function withoutComments(code: string): string {
  return code.replaceAll(/^\s*#.*$/gm, '')
}
